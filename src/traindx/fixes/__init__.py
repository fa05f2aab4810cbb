"""The fixes of the catalogue: one module each, registered by being there."""

from __future__ import annotations

from functools import cache

from traindx.fixes.base import Fix
from traindx.registry import load_units


@cache
def fixes() -> dict[str, Fix]:
    """Every fix by its id."""
    return load_units(__name__, __path__, "FIX", Fix)
