"""The causes of the catalogue: one module each, registered by being there."""

from __future__ import annotations

from functools import cache

from traindx.causes.base import Cause
from traindx.registry import load_units


@cache
def causes() -> dict[str, Cause]:
    """Every cause by its id."""
    return load_units(__name__, __path__, "CAUSE", Cause)
