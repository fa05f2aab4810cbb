"""lr-schedule-anomaly: the learning rate does something no plan would."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.recipes import cosine, falling, flat, then

ID = "lr-schedule-anomaly"
TINY = 2e-7  # no usual optimiser learns at a peak rate this small
NOTHING = 1e-3  # of the peak
DEAD_BY = 0.5  # a rate that is gone by half of the run is gone too early
JUMP = 8.0
RESTARTS = 3


def detect(signals: Signals) -> Observation:
    lr = signals.lr
    if lr is None or len(lr) < 4:
        return Observation(ID, "unknown", "The learning rate was not logged.")
    keep = np.isfinite(lr.values)
    steps, values = lr.steps[keep], lr.values[keep]
    if len(values) < 4:
        return Observation(ID, "unknown", "The learning rate was not logged.")
    span = (float(steps[0]), float(steps[-1]))
    peak = float(values.max())
    finding = _never_on(values, peak) or _dead_early(steps, values, peak) or _jump(steps, values, peak)
    if finding is not None:
        text, clear, at = finding
        return Observation(ID, "present", text, (at if at is not None else span[0], span[1]), lr.name, clear)
    return Observation(
        ID,
        "absent",
        f"{lr.name} runs from {num(float(values[0]))} over {num(peak)} to {num(float(values[-1]))}{_shape(lr)}.",
    )


def _never_on(values: Floats, peak: float) -> tuple[str, float, float | None] | None:
    if peak <= 0:
        return "The learning rate is zero throughout.", 1.0, None
    if peak < TINY:
        drops = int((np.diff(values) < -0.5 * peak).sum())
        again = f" and restarts {drops} times" if drops else ""
        return f"The learning rate never exceeds {num(peak)}{again}; nothing is learnt at such a rate.", 1.0, None
    return None


def _dead_early(steps: Floats, values: Floats, peak: float) -> tuple[str, float, float | None] | None:
    """Gone long before the end, and not by a last decay that the run just sits out."""
    alive = np.flatnonzero(values > NOTHING * peak)
    last = int(alive[-1])
    where = (steps[last] - steps[0]) / max(steps[-1] - steps[0], 1e-12)
    if last < len(values) - 3 and where < DEAD_BY:
        text = f"The learning rate falls to {num(float(values[-1]))} ({num(NOTHING)} of its peak {num(peak)}) after {percent(float(where))} of the run."
        return text, 1.0 if where < 0.35 else 0.6, float(steps[last])
    return None


def _jump(steps: Floats, values: Floats, peak: float) -> tuple[str, float, float | None] | None:
    """Upward jumps after the warm-up: a schedule that is stepped wrongly or rebuilt. Planned warm restarts come at
    equal or growing distances and are left alone when there are only a few."""
    floor = NOTHING * peak
    ratio = values[1:] / np.maximum(values[:-1], floor)
    warm = int(np.argmax(values >= 0.9 * peak))
    ups = np.flatnonzero((ratio > JUMP) & (values[1:] > 0.3 * peak)) + 1
    ups = ups[ups > max(2, warm)]
    if not len(ups):
        return None
    gaps = np.diff(np.append(warm, ups))
    planned = len(ups) < RESTARTS or bool(np.all(gaps[1:] >= 0.8 * gaps[:-1]))
    if planned:
        return None
    at = float(steps[ups[0]])
    return (
        f"The learning rate jumps back up {len(ups)} times at irregular distances (first at step {num(at)}).",
        0.7,
        at,
    )


def _shape(lr: Series) -> str:
    values = lr.values[np.isfinite(lr.values)]
    if values[0] >= 0.98 * values.max() and np.ptp(values) > 0:
        return ", without warm-up"
    return ", constant" if np.ptp(values) <= 1e-6 * abs(values.max()) else ""


SYMPTOM = Symptom(
    id=ID,
    title="learning-rate schedule does what no plan would",
    severity="problem",
    family="schedule",
    background=0.02,
    needs=("learning rate",),
    doc="""
## What is observed
The learning rate is zero, never gets off the ground, is gone long before the end, or jumps back up irregularly.

## How it is measured
On the logged rate of the main parameter group: zero throughout; a peak below 2e-7; below a thousandth of its peak before
half of the run is over; upward jumps of more than eight times after the warm-up at irregular distances. Warm restarts at
equal or growing distances, cosine decay to zero and step decay are plans and pass; whether there was a warm-up is told but
is no finding by itself.

## Healthy range
Warm-up over the first 1 to 10 %, then constant, cosine, linear or step decay that ends with the run.

## What it usually means
The scheduler is stepped per batch with per-epoch numbers (or the reverse), total steps computed for another number of
GPUs or epochs, a scheduler rebuilt on resume, or a rate that was scaled down twice.
""",
    detect=detect,
    cases=(
        Case("zero from the start", "present", lambda: {"loss": flat(50, 2.3), "lr": flat(50, 0.0)}),
        Case("gone after a tenth", "present", lambda: {"loss": falling(300, 2.3, 1.5), "lr": then(cosine(30, 0.1), flat(270, 1e-6, 0))}),
        Case("far too small, saw-tooth", "present", lambda: {"loss": flat(60, 4.1), "lr": then(*[np.linspace(0, 1e-7, 20)] * 3)}),
        Case("warm-up and cosine", "absent", lambda: {"loss": falling(300, 2.3, 0.5), "lr": cosine(300, 1e-3, 20)}),
        Case("warm restarts", "absent", lambda: {"loss": falling(300, 2.3, 0.5), "lr": then(cosine(100, 0.1), cosine(100, 0.1), cosine(100, 0.1))}),
        Case("not logged", "unknown", lambda: {"loss": falling(300, 2.3, 0.5)}),
    ),
)  # fmt: skip
