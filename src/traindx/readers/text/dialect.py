"""What a format adds to the text engine: line shapes that need more than names and numbers.

A format module defines DIALECT, a class with one instance per file. The engine asks `take` once for every new line
template; the handler it gives is then called for every line of that template and emits rows through the sink.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from functools import cache
from typing import Protocol

from traindx.meaning import Split


class Sink(Protocol):
    """Where handlers put what they read."""

    @property
    def place(self) -> int:
        """Where in the file the current line stands; rows are ordered by it."""
        ...

    def emit(
        self, values: Mapping[str, float], *, step: float | None = None, epoch: float | None = None, split: Split = "",
        dialect: str = "", place: int | None = None,
    ) -> None:  # fmt: skip
        """One row. Without a step or an epoch it is given those of the lines before it."""
        ...

    def count(self, *, step: float | None = None, epoch: float | None = None) -> None:
        """A header: the lines from here on belong to this step or epoch."""
        ...

    def plan(self, key: str, value: float) -> None:
        """How far the training is to go: 'planned_steps', 'planned_epochs'."""
        ...


Handler = Callable[[str, Sink], None]


class Dialect:
    """One format's line shapes. Lines that the general rules read well enough are only recognised, by `lines`: a log
    that turns out to consist of them is called by the format's `name`, however late they begin."""

    name: str = ""
    lines: re.Pattern[str] | None = None

    def take(self, line: str) -> Handler | None:
        """The handler for lines like this one, None when they are not of this format."""
        return None

    def close(self, sink: Sink) -> None:
        """The file has ended."""


@cache
def dialect_classes() -> tuple[Callable[[], Dialect], ...]:
    """The DIALECT of every format that has one."""
    from traindx.readers import formats

    found: list[Callable[[], Dialect]] = []
    for module_info in pkgutil.iter_modules(formats.__path__):
        dialect = getattr(importlib.import_module(f"{formats.__name__}.{module_info.name}"), "DIALECT", None)
        if dialect is not None:
            found.append(dialect)
    return tuple(found)
