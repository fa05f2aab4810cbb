"""loss-scale-collapse: the loss scale of mixed precision keeps falling, or steps are skipped."""

from __future__ import annotations

import math
import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.inside import level
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, ramp, then
from traindx.symptoms.reported import said

ID = "loss-scale-collapse"
MIN_POINTS = 8
START = 0.1  # of the run, and at least thirty steps, are calibration: 2^32 to 2^14 takes eighteen halvings
CALIBRATION_STEPS = 30
SKIPPED = 0.05
PLAIN_SKIPPED = 0.3
HALVINGS = 6.0  # from the middle of the run to its end; single halvings come back within 2 000 steps
PLAIN_IN_A_ROW = 8.0  # halvings, a factor of 256
FLOOR = 1.0
# fairseq divides the summed loss only after the backward pass, so that its scale rests below 1 (it gives up at 1e-4)
FLOORS = {"fairseq": 1e-3}
GONE = 1e-3  # no scaler that works goes as far: torch and DeepSpeed begin at 2^16, apex rests above 1
HALF = 0.5001  # what one overflow leaves of the scale
_MESSAGE = re.compile(r"minimum loss scale reached|loss scale already at minimum", re.IGNORECASE)


def detect(signals: Signals) -> Observation:
    reported = said(ID, signals.run, _MESSAGE)
    if reported is not None:
        return reported
    scales = [one for one in usable(signals.run, "loss_scale") if _in_use(one)]
    skipped = [one for one in usable(signals.run, "skipped") if len(one) >= MIN_POINTS and not one.meaning.part]
    findings = [_falling(one, signals) for one in scales] + [_skipping(one) for one in skipped]
    if not findings:
        return Observation(ID, "unknown", "No loss scale that is in use and no count of skipped steps were logged.")
    hits = [one for one in findings if one.state == "present"]
    return max(hits, key=lambda one: one.clarity) if hits else findings[0]


def _in_use(series: Series) -> bool:
    """A scale that is always 1 or -1 is what tools print when there is no scaler."""
    scale = _known(series)
    many = len(scale) >= MIN_POINTS or _last_halvings(scale) >= HALVINGS
    return many and bool(scale.max() > scale.min() or scale.max() > 1)


def _known(series: Series) -> Floats:
    return series.values[np.isfinite(series.values) & (series.values >= 0)]


def _last_halvings(scale: Floats) -> int:
    """How many values at the end are each half of the one before: overflow after overflow, and not one growth."""
    halved = scale[1:] <= HALF * scale[:-1]
    return len(halved) if halved.all() else int(np.argmin(halved[::-1]))


def _begins_late(series: Series, halvings: int, signals: Signals) -> bool:
    """Whether the last halvings lie behind the start of the run, where a scaler looks for its scale."""
    curve = signals.main
    if curve is None or not len(curve) or curve.series.axis != series.axis:
        return False
    span = float(curve.x[-1] - curve.x[0])
    return span > 0 and float(series.steps[-halvings - 1]) > float(curve.x[0]) + START * span


def _falling(series: Series, signals: Signals) -> Observation:
    scale = _known(series)
    halvings = _last_halvings(scale)
    if halvings >= HALVINGS and len(scale) == len(series) and _begins_late(series, halvings, signals):
        text = f"{series.name} was halved {halvings} times in a row at the end, to {num(float(scale[-1]))}."
        return Observation(
            ID, "present", text, (float(series.steps[-halvings - 1]), float(series.steps[-1])), series.name,
            clarity(halvings, HALVINGS, PLAIN_IN_A_ROW), conclusive=float(scale[-1]) <= GONE,
        )  # fmt: skip
    end = level(scale[-max(2, len(scale) // 20) :])
    middle = level(scale[len(scale) // 5 : max(len(scale) * 3 // 5, len(scale) // 5 + 1)])
    third = level(scale[len(scale) * 3 // 5 : len(scale) * 4 // 5])
    top = float(scale.max())
    fell = math.log2(max(middle, 1e-30) / max(end, 1e-30))
    summary = (
        f"{series.name} was {num(top)} at most, {num(middle)} in the middle of the run and is {num(end)} at the end"
    )
    floor = FLOORS.get(signals.run.format, FLOOR)
    at_floor = end <= floor and end < top
    # halved again in the last part as well: an old fall that came to rest has found its scale
    still = fell >= HALVINGS and end <= third / 4
    if not at_floor and not still:
        return Observation(ID, "absent", f"{summary}; a fall at the start is calibration.")
    low = np.flatnonzero(series.values <= max(end, floor) if at_floor else series.values < middle / 2)
    return Observation(
        ID, "present", f"{summary}.", (float(series.steps[low[0] if len(low) else 0]), float(series.steps[-1])),
        series.name,
        1.0 if at_floor else clarity(fell, HALVINGS, 2 * HALVINGS), conclusive=end <= GONE,
    )  # fmt: skip


def _skipping(series: Series) -> Observation:
    """Counts since the start, counts since the last row, and flags of single steps are all in use."""
    values = np.clip(np.nan_to_num(series.values), 0, max(float(series.steps[-1]), 1.0))
    span = float(series.steps[-1] - series.steps[0])
    interval = max(1.0, float(np.median(np.diff(series.steps)))) if series.axis == "step" else 1.0
    counted = np.diff(values, prepend=values[0]) if _cumulative(values, interval) else values
    begin = series.steps[0] + max(START * span, CALIBRATION_STEPS if series.axis == "step" else 0.0)
    late = series.steps > begin
    if late.sum() < MIN_POINTS // 2:
        return Observation(ID, "unknown", f"{series.name} covers little more than the calibration of the scaler.")
    share = float(counted[late].sum() / (late.sum() * interval))
    summary = f"{series.name}: {percent(share)} of the steps after step {num(begin)} were skipped"
    if share <= SKIPPED:
        return Observation(ID, "absent", f"{summary} ({num(float(counted.sum()))} in the whole run).")
    hit = np.flatnonzero(late & (counted > 0))
    return Observation(
        ID, "present", f"{summary} (normal: below 1 %).", (float(series.steps[hit[0]]), float(series.steps[hit[-1]])),
        series.name, clarity(share, SKIPPED, PLAIN_SKIPPED),
    )  # fmt: skip


def _cumulative(values: Floats, interval: float) -> bool:
    """A count that never falls; one that never moves is old news unless it says that every step was skipped."""
    if values[0] == values[-1]:
        return bool(np.all(values == values[0])) and values[0] != interval
    return bool(np.all(np.diff(values) >= 0)) and values[-1] > 1


SYMPTOM = Symptom(
    id=ID,
    title="loss scale collapses",
    severity="problem",
    family="precision",
    background=0.01,
    needs=("loss scale", "skipped steps"),
    doc="""
## What is observed
The dynamic loss scaler of fp16 training halves its scale again and again and skips the steps, because gradients
overflow at every scale it tries.

## How it is measured
Present when the scale ends at 1 or below after having been higher (0.001 in fairseq, which scales a sum), when it fell
by six halvings or more from the middle of the run to its end and is still falling, when it was halved six times in a
row at the end of a run that had begun long before, or when more than 5 % of the steps after start-up (the first tenth,
at least 30 steps) were skipped, plain from 30 %. Counters of skipped steps are understood since the start or since the
last row. The messages of fairseq and DeepSpeed about the minimum loss scale count as well. A scale that is always 1 or
-1 means that no scaler is in use, and says nothing.

## Healthy range
A fall at the start is calibration: from 2^32 down to about 2^14 within the first eighteen steps, each of them skipped.
Afterwards one skipped step in 2 000 belongs to the method: the scale is doubled that often to see whether it holds.

## What it usually means
Activations or gradients that do not fit fp16: values beyond 65 504 in attention or the residual stream, a model
trained in bfloat16 and continued in fp16, a NaN that comes from the data or the loss (it overflows at any scale), or a
training that diverges for another reason. A higher minimum scale only hides it.
""",
    detect=detect,
    cases=(
        Case("falls to one", "present", lambda: {"loss_scale": 2.0 ** np.floor(ramp(200, 16, 0))}),
        Case(
            "keeps falling late",
            "present",
            lambda: {"amp/scale": 2.0 ** np.floor(then(flat(120, 16, 0), ramp(80, 16, 6)))},
        ),
        Case(
            "every eighth step skipped",
            "present",
            lambda: {"skipped": (range(0, 4000, 10), [float(i % 8 == 0) * 10 for i in range(400)])},
        ),
        Case(
            "calibration at the start",
            "absent",
            lambda: {
                "loss scale": then(2.0 ** np.floor(ramp(18, 32, 14)), flat(400, 2.0**14, 0)),
                "number of skipped iterations": then(flat(18, 1.0, 0), flat(400, 0.0)),
            },
        ),
        Case(
            "a count since the start that rests",
            "absent",
            lambda: {"loss": falling(100, 9, 4), "skipped": (range(100, 1100, 10), flat(100, 17.0, 0))},
        ),
        Case(
            "doubles and halves",
            "absent",
            lambda: {"amp/scale": 2.0 ** np.array([14 + (i // 20) % 3 for i in range(300)], float)},
        ),
        Case(
            "halved to the end",
            "present",
            lambda: {
                "val_loss": (range(10, 16), [0.15, 0.15, 0.14, 0.15, 0.15, 0.71]),
                "loss scale": ([15] * 8, 2.0 ** -np.arange(-8.0, 0.0)),
            },
        ),
        Case(
            "below one from the first message on",
            "present",
            lambda: {"loss scale": (range(12), 2.0 ** -np.arange(600.0, 612.0))},
        ),
        Case("no scaler in use", "unknown", lambda: {"loss scale": flat(100, -1.0, 0), "loss": falling(100, 9, 4)}),
        Case("not logged", "unknown", lambda: {"loss": falling(100, 9, 4)}),
    ),
)
