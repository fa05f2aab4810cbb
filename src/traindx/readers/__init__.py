"""Readers: files → Run. One module a format; `find_runs` picks the reader by content."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from traindx.readers import formats
from traindx.readers.base import Reader


@cache
def readers() -> tuple[Reader, ...]:
    """Every format there is: each module of `formats` that defines READER. Two of one name are refused."""
    found: dict[str, Reader] = {}
    for module_info in pkgutil.iter_modules(formats.__path__):
        reader = getattr(importlib.import_module(f"{formats.__name__}.{module_info.name}"), "READER", None)
        if reader is None:
            continue
        if reader.name in found:
            raise RuntimeError(f"two readers are called {reader.name!r}; rename the one in {module_info.name}.py")
        found[reader.name] = reader
    return tuple(found.values())
