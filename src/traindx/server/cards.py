"""What the dashboard's table knows of a run: a few hundred bytes, made once for each state of its files."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from math import isfinite, log10
from typing import Any

import numpy as np

from traindx.comparison.summary import Summary, summary_of
from traindx.diagnosis import Diagnosis, Verdict
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.readers.units import Unit, runs_of
from traindx.reporters.sparkline import is_log
from traindx.reporters.wording import clean, counted_of, leading, main_symptom, number, percent, run_name, title_of
from traindx.run import Run
from traindx.signals import Signals
from traindx.signals.speed import step_seconds

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
    spark: tuple[float | None, ...]  # None: NaN or Inf
    loss: float  # the last value of the curve, not a number where there is none
    lr: float
    seconds: float
    summary: Summary

    def data(self, live: bool, changed: float, folder: str) -> dict[str, Any]:
        """As the page's script takes it."""
        return {
            "id": self.id, "name": self.name.removeprefix(folder), "verdict": self.verdict, "live": live,
            "changed": changed, "length": self.length,
            "cause": self.cause, "sure": round(self.confidence, 4), "percent": percent(self.confidence),
            "symptom": self.symptom,
            "spark": [None if y is None else round(y, 3) for y in self.spark],
            "loss": _shown(self.loss), "lr": _shown(self.lr), "seconds": _shown(self.seconds),
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
        headline=clean(diagnosis.headline), length=counted_of(diagnosis),
        cause=title_of(first) if first is not None else "",
        confidence=first.confidence if first is not None else 0.0,
        symptom=main_symptom(diagnosis) if diagnosis.verdict != "healthy" else "",
        ended=any(event.kind in _ENDS for event in run.events), spark=_spark(diagnosis),
        loss=diagnosis.curves[0].values[-1] if diagnosis.curves and diagnosis.curves[0].values else math.nan,
        lr=_rate(run), seconds=_seconds(run), summary=summary_of(run, diagnosis),
    )  # fmt: skip


def identifier_of(unit: Unit, place: int, name: str) -> str:
    """A name for URLs that says nothing of the disk and stays the same while the run grows."""
    return hashlib.sha256(f"{unit.label}\0{place}\0{name}".encode("utf-8", "surrogateescape")).hexdigest()[:20]


def _rate(run: Run) -> float:
    """The last learning rate that was logged, or the one that is set."""
    logged = Signals(run).lr
    if logged is not None and len(logged.values):
        return float(logged.values[-1])
    stated = run.config.get("lr", run.config.get("learning_rate"))
    return float(stated) if isinstance(stated, int | float) else math.nan


def _seconds(run: Run) -> float:
    """From the first logged time to the last; where only steps were timed, as many as were made."""
    times = [series.times for series in run.series.values() if series.times is not None and len(series.times) > 1]
    spans = [float(np.nanmax(one) - np.nanmin(one)) for one in times if np.isfinite(one).any()]
    paced = None if spans else step_seconds(Signals(run))
    if paced is not None and np.isfinite(paced.values).any():
        spans = [float(np.nanmean(paced.values)) * run.steps]
    return max(spans, default=math.nan)


def _shown(value: float) -> dict[str, Any] | None:
    """A number as it sorts and as it reads; JSON has no NaN."""
    return {"text": number(value), "value": value if isfinite(value) else None}


def _spark(diagnosis: Diagnosis) -> tuple[float | None, ...]:
    """The objective in a few heights between 0 and 1, on a logarithmic scale where its range asks for one. Spikes stay,
    and so do places that are not finite."""
    if not diagnosis.curves:
        return ()
    values = list(diagnosis.curves[0].values)
    log = is_log(values)
    every = max(1, len(values) // SPARK_POINTS)
    parts = [values[start : start + every] for start in range(0, len(values), every)]
    kept = [None if not all(map(isfinite, part)) else log10(max(part)) if log else max(part) for part in parts]
    finite = [height for height in kept if height is not None]
    if len(kept) < 2 or not finite:
        return ()
    low, high = min(finite), max(finite)
    return tuple(None if height is None else (height - low) / ((high - low) or 1.0) for height in kept)
