"""What a reporter is. One module a format; a module that defines REPORTER is registered by being there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from traindx.diagnosis import Diagnosis

if TYPE_CHECKING:
    from traindx.run import Run
    from traindx.signals import Settings


class Render(Protocol):
    """Diagnoses become text; `color` allows ANSI colours, `width` says how many columns there are."""

    def __call__(self, diagnoses: Sequence[Diagnosis], *, color: bool, width: int) -> str: ...


class Illustrate(Protocol):
    """Diagnoses and the runs they speak of become text, for formats that draw what was logged."""

    def __call__(self, pairs: Sequence[tuple[Run, Diagnosis]], settings: Settings) -> str: ...


@dataclass(frozen=True)
class Reporter:
    """`flag` is what `--format` calls it; `suffixes` are the file endings that choose it when no format is given;
    `illustrate`, where a format has it, is asked instead of `render` when the runs are at hand; `render_all` shows what
    `render` leaves out for brevity."""

    id: str
    flag: str
    title: str
    suffixes: tuple[str, ...]
    render: Render
    illustrate: Illustrate | None = None
    render_all: Render | None = None
