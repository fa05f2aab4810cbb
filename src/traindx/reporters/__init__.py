"""Reporters: Diagnosis → text, one module a format, registered by being there."""

from __future__ import annotations

from functools import cache

from traindx.registry import load_units
from traindx.reporters.base import Reporter


@cache
def reporters() -> dict[str, Reporter]:
    """Every format by the name `--format` knows it under. Two of one name are refused."""
    found: dict[str, Reporter] = {}
    for reporter in load_units(__name__, __path__, "REPORTER", Reporter).values():
        if reporter.flag in found:
            raise RuntimeError(f"two reporters answer to --format {reporter.flag}; rename the one in {reporter.id}.py")
        found[reporter.flag] = reporter
    return found
