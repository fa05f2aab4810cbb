"""What a tracker is, and what it is reported."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from traindx.diagnosis import Diagnosis
from traindx.reporters import reporters
from traindx.reporters.wording import clean, leading, title_of


@dataclass(frozen=True)
class Note:
    """A diagnosis as a tracker keeps it: a few values to sort runs by, and the page."""

    values: dict[str, str | float]
    title: str
    text: str
    page: str  # Markdown

    @property
    def urgent(self) -> bool:
        return self.values["traindx/verdict"] == "unhealthy"


def note_of(diagnosis: Diagnosis) -> Note:
    values: dict[str, str | float] = {
        "traindx/verdict": diagnosis.verdict,
        "traindx/headline": clean(diagnosis.headline),
    }
    first = leading(diagnosis)
    title = f"traindx: {diagnosis.verdict}"
    if first is not None:
        values |= {"traindx/cause": first.cause, "traindx/confidence": round(first.confidence, 3)}
        title = f"traindx: {title_of(first)}"
    page = reporters()["md"].render([diagnosis], color=False, width=100)
    return Note(values, title, clean(f"{diagnosis.headline} {diagnosis.next}"), page)


class Tracker(ABC):
    """`awaits` is the module that must have been imported by the script; `begins` and `ends` name, as module:attribute,
    the functions that open a run or writer and that close it."""

    id: ClassVar[str]
    awaits: ClassVar[str]
    begins: ClassVar[tuple[str, ...]]
    ends: ClassVar[tuple[str, ...]]

    @abstractmethod
    def open(self, given: Sequence[Any]) -> list[Any]:
        """The runs or writers that are open; `given` are the arguments of the function that closes, if one was
        called."""

    @abstractmethod
    def write(self, target: Any, note: Note) -> None:
        """Put the note where the tracker shows it, without a step of its own in the script's series."""

    def began(self, given: Sequence[Any]) -> None:  # noqa: B027  most trackers know their open runs themselves
        """Called after a run or writer has been opened with these arguments."""
