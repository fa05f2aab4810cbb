"""The probes: one module each, registered by being there. The first line of a module says what its command does."""

from __future__ import annotations

from functools import cache

from traindx.probes.base import Probe
from traindx.registry import load_units


@cache
def probes() -> dict[str, Probe]:
    """Every probe by its id."""
    return load_units(__name__, __path__, "PROBE", Probe)
