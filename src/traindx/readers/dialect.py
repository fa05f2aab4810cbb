"""What a format adds to the text engine: line shapes that need more than names and numbers.

A format module defines DIALECT, a class with one instance per file. The engine asks `take` once for every new line
template; the handler it gives is then called for every line of that template and emits rows through the sink.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from traindx.meaning import Split


class Sink(Protocol):
    """Where handlers put what they read."""

    def emit(
        self, values: Mapping[str, float], *, step: float | None = None, epoch: float | None = None, split: Split = "", dialect: str = ""
    ) -> None: ...  # fmt: skip

    def plan(self, key: str, value: float) -> None: ...


Handler = Callable[[str, Sink], None]


class Dialect(Protocol):
    """One format's line shapes. `close` is called at the end of the file."""

    def take(self, line: str) -> Handler | None: ...

    def close(self, sink: Sink) -> None: ...


@cache
def dialect_classes() -> tuple[Callable[[], Dialect], ...]:
    """The DIALECT of every module of the readers package that has one."""
    import traindx.readers as package

    found: list[Callable[[], Dialect]] = []
    for module_info in pkgutil.iter_modules(package.__path__):
        dialect = getattr(importlib.import_module(f"{package.__name__}.{module_info.name}"), "DIALECT", None)
        if dialect is not None:
            found.append(dialect)
    return tuple(found)
