"""The observers: one module each, registered by being there."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from traindx.live.events.instrument import Observer


@cache
def observers() -> dict[str, type[Observer]]:
    """Every observer class by its module's name."""
    found: dict[str, type[Observer]] = {}
    for info in sorted(pkgutil.iter_modules(__path__), key=lambda info: info.name):
        kind = getattr(importlib.import_module(f"{__name__}.{info.name}"), "OBSERVER", None)
        if kind is not None:
            found[info.name] = kind
    return found
