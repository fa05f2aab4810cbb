"""What the dashboard's table knows of a run: a few hundred bytes, made once for each state of its files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from math import isfinite, log10
from typing import Any

from traindx.comparison.summary import Summary, summary_of
from traindx.diagnosis import Diagnosis, Verdict
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.readers.units import Unit, runs_of
from traindx.reporters.sparkline import is_log
from traindx.reporters.wording import amount, clean, leading, main_symptom, run_name, title_of
from traindx.run import Run

SPARK_POINTS = 40
_ENDS = ("finished", "traceback", "killed", "oom", "early-stop")
_ORDER: dict[Verdict, int] = {"unhealthy": 0, "inconclusive": 2, "healthy": 3}
WAITING_ORDER = 1.5  # runs that nobody has looked at yet come after the sick ones


@dataclass(frozen=True)
class Card:
    """One run as a row of the table."""

    id: str
    place: int  # which of the unit's runs it is
    name: str
    verdict: Verdict
    headline: str
    length: str
    cause: str
    confidence: float
    symptom: str
    ended: bool
    spark: tuple[float, ...]
    summary: Summary

    def data(self, live: bool, changed: float, folder: str) -> dict[str, Any]:
        """As the page's script takes it."""
        return {
            "id": self.id, "name": self.name.removeprefix(folder), "verdict": self.verdict, "live": live,
            "changed": changed, "length": self.length,
            "cause": self.cause, "sure": round(self.confidence, 3), "symptom": self.symptom,
            "spark": [round(y, 3) for y in self.spark],
            "said": self.headline, "order": attention(self.verdict, live, self.confidence),
        }  # fmt: skip


def attention(verdict: Verdict, live: bool, confidence: float) -> float:
    """The smaller, the sooner somebody should look: a training that is going wrong now comes first."""
    return round(_ORDER[verdict] - (0.5 if live and verdict == "unhealthy" else 0.0) - 0.4 * confidence, 3)


def look(unit: Unit) -> tuple[list[Card], list[str]]:
    """Read and diagnose the runs of one unit; what cannot be used is said, never raised."""
    runs, problems = runs_of(unit)
    cards = []
    for place, run in enumerate(runs):
        try:
            cards.append(card_of(unit, place, run, diagnose(run)))
        except TraindxError as error:
            problems.append(str(error))
    return cards, problems


def card_of(unit: Unit, place: int, run: Run, diagnosis: Diagnosis) -> Card:
    first = leading(diagnosis)
    return Card(
        id=identifier_of(unit, place, run.name), place=place, name=run_name(diagnosis), verdict=diagnosis.verdict,
        headline=clean(diagnosis.headline), length=amount(run.steps, run.axis) if run.steps else "",
        cause=title_of(first) if first is not None else "",
        confidence=first.confidence if first is not None else 0.0,
        symptom=main_symptom(diagnosis) if diagnosis.verdict != "healthy" else "",
        ended=any(event.kind in _ENDS for event in run.events), spark=_spark(diagnosis),
        summary=summary_of(run, diagnosis),
    )  # fmt: skip


def identifier_of(unit: Unit, place: int, name: str) -> str:
    """A name for URLs that says nothing of the disk and stays the same while the run grows."""
    return hashlib.sha256(f"{unit.label}\0{place}\0{name}".encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _spark(diagnosis: Diagnosis) -> tuple[float, ...]:
    """The objective in a few heights between 0 and 1, on a logarithmic scale where its range asks for one."""
    if not diagnosis.curves:
        return ()
    values = list(diagnosis.curves[0].values)
    log = is_log(values)
    heights = [(log10(value) if log else value) for value in values if isfinite(value)]
    if len(heights) < 2:
        return ()
    every = max(1, len(heights) // SPARK_POINTS)
    kept = [max(heights[start : start + every]) for start in range(0, len(heights), every)]
    low, high = min(kept), max(kept)
    return tuple((height - low) / ((high - low) or 1.0) for height in kept)
