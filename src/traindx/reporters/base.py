"""What a reporter is. One module a format; a module that defines REPORTER is registered by being there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from traindx.diagnosis import Diagnosis


class Render(Protocol):
    """Diagnoses become text; `color` allows ANSI colours, `width` says how many columns there are."""

    def __call__(self, diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str: ...


@dataclass(frozen=True)
class Reporter:
    """`flag` is what `--format` calls it; `suffixes` are the file endings that choose it when no format is given."""

    id: str
    flag: str
    title: str
    suffixes: tuple[str, ...]
    render: Render
