"""Presence is registration: collects the units of a package, one module each, and refuses doubles loudly."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable
from typing import TypeVar

UnitT = TypeVar("UnitT")


def load_units(package: str, path: Iterable[str], attribute: str, unit_type: type[UnitT]) -> dict[str, UnitT]:
    """The `attribute` of every module in the package, by id. A unit's module is named after its id."""
    units: dict[str, UnitT] = {}
    for module_info in sorted(pkgutil.iter_modules(path), key=lambda info: info.name):
        unit = getattr(importlib.import_module(f"{package}.{module_info.name}"), attribute, None)
        if unit is None:
            continue
        if not isinstance(unit, unit_type):
            raise TypeError(f"{package}.{module_info.name}.{attribute} is no {unit_type.__name__}")
        identifier: str = unit.id  # type: ignore[attr-defined]
        if identifier.replace("-", "_") != module_info.name:
            raise RuntimeError(f"{package}.{module_info.name} defines {identifier!r}; name the file after the id")
        units[identifier] = unit
    return units
