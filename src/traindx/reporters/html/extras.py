"""What a command can add to a report besides the diagnosis: readings of probes, trials of fixes, a comparison, how well
confidences have held so far. Plain data; the page shows what is there and leaves out what is not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # `traindx --help` lists the report formats and must not load numpy for it
    from traindx.reading import Chart, Reading, Table


@dataclass(frozen=True)
class Section:
    """A section of a page that its author describes and the page lays out: sentences, then code, tables and charts.
    `verdict` is a word shown as a label beside the title; `tone` says how it is coloured."""

    title: str
    text: tuple[str, ...] = ()
    verdict: str = ""
    tone: str = "unknown"  # cured, refuted or unknown
    diff: str = ""  # a patch or code to copy
    tables: tuple[Table, ...] = ()
    charts: tuple[Chart, ...] = ()


@dataclass(frozen=True)
class Bin:
    """Of `count` diagnoses with about this confidence, the share in which the first cause was the right one."""

    confidence: float
    right: float
    count: int


@dataclass(frozen=True)
class Reliability:
    """How well stated confidences have held on trainings with a known fault."""

    bins: tuple[Bin, ...]
    source: str  # which trainings, in words


@dataclass(frozen=True)
class Extras:
    """Everything optional about one run's page."""

    readings: tuple[Reading, ...] = ()
    trials: tuple[Section, ...] = ()
    sections: tuple[Section, ...] = field(default=())
    reliability: Reliability | None = None
