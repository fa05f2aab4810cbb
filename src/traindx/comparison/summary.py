"""What a comparison needs to know of one run, in a few kilobytes: ten thousand of them fit into memory, whatever the
logs are."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from traindx.diagnosis import Diagnosis, Observation, Verdict
from traindx.run import Axis, Run
from traindx.signals import Signals
from traindx.signals.curve import END_SHARE, Curve
from traindx.signals.stats import noise_sigma
from traindx.symptoms import symptoms

Role = Literal["named", "reward", "validation loss", "score", "training loss", "training score"]
POINTS = 40  # of a curve that are kept
MOST_SETTINGS = 300
LONGEST_VALUE = 120
LEAST_AROUND = 8  # points from which the noise near a place can be estimated
STRONG = 0.7  # clarity from which an observation speaks for itself
END_REACHED = 0.9  # of the run: what lasts that long lasts to the end
MEDIAN_ERROR = 1.2533  # the standard error of a median is this much larger than that of a mean


@dataclass(frozen=True, slots=True)
class Measure:
    """One objective of a run. Values are as logged; `sign` turns them so that lower is better. Levels (`best`, `final`)
    are medians over a tenth of the run, their errors are standard errors that follow from the noise of the curve, NaN
    where it is too short to tell. `x` and `y` are the curve in at most forty points; `seconds` is when they were
    reached, if logged."""

    role: Role
    name: str
    kind: str
    sign: float
    axis: Axis
    x: tuple[float, ...]
    y: tuple[float, ...]
    seconds: tuple[float, ...] | None
    initial: float
    best: float
    best_at: float
    best_error: float
    final: float
    final_error: float
    wobble: float  # how much the second half scatters about its trend, as a share of the progress made
    broke: bool  # the last values are NaN or Inf

    def lower(self, value: float) -> float:
        """The value turned so that lower is better."""
        return value * self.sign


@dataclass(frozen=True, slots=True)
class Summary:
    """One run: what it is called, how it was set, what it reached and what is wrong with it."""

    source: str
    name: str
    format: str
    steps: int
    axis: Axis
    config: Mapping[str, Any]
    verdict: Verdict
    cause: str
    confidence: float
    problems: tuple[str, ...]  # symptoms present that make a run unhealthy
    present: tuple[str, ...]
    absent: tuple[str, ...]
    measures: Mapping[Role, Measure] = field(default_factory=dict)

    @property
    def label(self) -> str:
        return f"{self.source} ({self.name})" if self.name else self.source


def summary_of(run: Run, diagnosis: Diagnosis) -> Summary:
    """The summary of a run whose whole diagnosis is at hand."""
    fault = next((h for h in diagnosis.hypotheses if h.cause not in ("healthy", "other")), None)
    cause, confidence = ("", 0.0) if fault is None else (fault.cause, fault.confidence)
    return summarise(Signals(run), diagnosis.symptoms, diagnosis.verdict, cause, confidence)


def summarise(
    signals: Signals, observations: Sequence[Observation], verdict: Verdict, cause: str, confidence: float
) -> Summary:
    """The summary of a run that was judged; `cause` is the likeliest fault."""
    known = symptoms()
    run = signals.run
    present = tuple(sys.intern(symptom.id) for symptom in observations if symptom.state == "present")
    broken = _broken_from(observations, run.steps)
    stated = verdict == "unhealthy"
    return Summary(
        source=run.source,
        name=run.name,
        format=run.format,
        steps=run.steps,
        axis=run.axis,
        config=_bounded(run.config, signals),
        verdict=verdict,
        cause=sys.intern(cause) if stated else "",
        confidence=confidence if stated else 0.0,
        problems=tuple(i for i in present if i in known and known[i].severity == "problem"),
        present=present,
        absent=tuple(sys.intern(s.id) for s in observations if s.state == "absent"),
        measures={role: _measure(role, curve, broken) for role, curve in _curves(signals).items() if len(curve)},
    )


def _curves(signals: Signals) -> dict[Role, Curve]:
    if signals.settings.metric:
        return {"named": signals.main} if signals.main is not None else {}
    found: dict[Role, Curve | None] = {
        "reward": signals.reward if signals.kind == "rl" else None, "validation loss": signals.val,
        "score": signals.score, "training loss": signals.train, "training score": signals.train_score,
    }  # fmt: skip
    return {role: curve for role, curve in found.items() if curve is not None}


def _broken_from(observations: Sequence[Observation], steps: int) -> float:
    """The step from which the loss is not a number for good, whatever the log prints then: some trainers print 0."""
    found = next((s for s in observations if s.id == "nonfinite-loss" and s.state == "present"), None)
    if found is None or found.steps is None or found.clarity < STRONG or found.steps[1] < END_REACHED * steps:
        return math.inf
    return found.steps[0]


def _measure(role: Role, whole: Curve, broken: float) -> Measure:
    valid = whole.series.steps < broken
    curve = whole
    if valid.any() and not valid.all():
        series = whole.series
        times = None if series.times is None else series.times[valid]
        cut = replace(series, steps=series.steps[valid], values=series.values[valid], times=times)
        curve = Curve(cut, whole.sign) if np.isfinite(cut.values).any() else whole
    bins = curve.bins
    keep = np.unique(np.linspace(0, len(bins.x) - 1, min(POINTS, len(bins.x))).round().astype(int))
    half = bins.median[len(bins.median) // 2 :]
    progress = abs(curve.progress)
    wobble = noise_sigma(half) / progress if progress > 0 and len(half) >= 4 else math.nan
    tail = curve.series.values[-max(1, round(len(curve.series) * END_SHARE)) :]
    return Measure(
        role=role, name=sys.intern(curve.name), kind=curve.series.meaning.kind, sign=curve.sign, axis=curve.series.axis,
        x=tuple(bins.x[keep].tolist()), y=tuple((bins.median[keep] * curve.sign).tolist()),
        seconds=_seconds(curve, bins.x[keep]), initial=curve.logged(curve.initial),
        best=curve.logged(curve.best), best_at=curve.best_at, best_error=_level_error(curve, curve.best_at),
        final=curve.logged(curve.now), final_error=_level_error(curve, float(curve.x[-1])), wobble=wobble,
        broke=not np.isfinite(tail).any() or not valid.all(),
    )  # fmt: skip


def _level_error(curve: Curve, at: float) -> float:
    """The standard error of a level, which is the median of a tenth of the run, from the noise of the curve around
    it."""
    width = max(1, round(len(curve) * END_SHARE))
    around = max(width, LEAST_AROUND)
    stop = min(len(curve), int(np.searchsorted(curve.x, at)) + 1 + around // 2)
    near = curve.y[max(0, stop - around) : stop]
    noise = noise_sigma(near)
    if len(near) < LEAST_AROUND or noise <= 0:
        return math.nan
    return float(noise if width == 1 else MEDIAN_ERROR * noise * curve.correlation / math.sqrt(width))


def _seconds(curve: Curve, places: Any) -> tuple[float, ...] | None:
    times, steps = curve.series.times, curve.series.steps
    if times is None or len(times) != len(steps) or not np.isfinite(times).all():
        return None
    return tuple((np.interp(places, steps, times) - times[0]).tolist())


def _bounded(config: Mapping[str, Any], signals: Signals) -> dict[str, Any]:
    """The settings, cut to a size that ten thousand runs can have; a learning rate that only the log knows is added."""
    kept: dict[str, Any] = {}
    for key, value in list(config.items())[:MOST_SETTINGS]:
        kept[sys.intern(str(key)[:LONGEST_VALUE])] = value[:LONGEST_VALUE] if isinstance(value, str) else value
    if signals.lr is not None and np.isfinite(signals.lr.values).any():
        kept.setdefault("logged.peak_lr", float(np.nanmax(signals.lr.values)))
    return kept
