"""lr-schedule-anomaly: the learning rate does something no plan would."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.progress import Progress
from traindx.signals.rates import still_warming_up
from traindx.signals.stats import mann_kendall
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.recipes import cosine, falling, flat, ramp, then

ID = "lr-schedule-anomaly"
TINY = 2e-7  # no usual optimiser learns at a peak rate this small
NOTHING = 1e-3  # of the peak
DEAD_BY = 0.5  # a rate that is gone by half of the run is gone too early
JUMP = 8.0
RESTARTS = 3
CUT = 0.7  # of the rate before
MOVES_IN = 8  # values: fewer show no course
MOVED = 5.0  # times the uncertainty of a level, as for divergence
LEARNT = 0.1  # of the first held-out loss
MIN_SCHEDULED = 5  # values that a scheduler was given
SURE = 2.0  # standard deviations by which they go the wrong way
SAME = 1e-3
MAX_TREND_VALUES = 300  # values that a trend is estimated from


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
    coarse = signals.trainer is not None and signals.trainer.rounded
    if peak <= 0 and (coarse or _trains(signals)):
        why = "this trainer prints too few decimals" if coarse else "but the run trains: the log rounds it"
        return Observation(ID, "unknown", f"{lr.name} is printed as 0, {why}.")
    finding = (
        _never_on(signals, values, peak)
        or _dead_early(steps, values, peak)
        or _wrong_way(signals, steps, values)
        or _jump(steps, values, peak)
    )
    if finding is not None and not (0 < peak < TINY and _tiny_on_purpose(signals)):
        text, clear, at = finding
        return Observation(ID, "present", text, (at if at is not None else span[0], span[1]), lr.name, clear)
    return Observation(
        ID,
        "absent",
        f"{lr.name} runs from {num(float(values[0]))} over {num(peak)} to {num(float(values[-1]))}{_shape(lr)}.",
    )


def _trains(signals: Signals) -> bool:
    """Whether weights changed all the same: an objective moved beyond its noise, or was lost to NaN on the way."""
    curves = [
        c for c in (signals.main, signals.train, signals.val, signals.score) if c is not None and len(c) >= MOVES_IN
    ]
    lost = any(np.isfinite(c.series.values[0]) and not np.isfinite(c.series.values).all() for c in curves)
    return lost or any(max(c.progress, c.rise) > MOVED * max(c.level_noise, 1e-300) for c in curves)


def _tiny_on_purpose(signals: Signals) -> bool:
    """Preference optimisation and policies of language models train at 4e-8 (minimind's DPO) to 1e-6; where such a rate
    teaches nothing, the margin or the reward shows it."""
    return signals.trainer is not None and signals.trainer.task != "supervised"


def _never_on(signals: Signals, values: Floats, peak: float) -> tuple[str, float, float | None] | None:
    if peak <= 0:
        return "The learning rate is zero throughout.", 1.0, None
    if peak < TINY and not still_warming_up(signals) and not _learns(signals):
        drops = int((np.diff(values) < -0.5 * peak).sum())
        again = f" and restarts {drops} times" if drops else ""
        return f"The learning rate never exceeds {num(peak)}{again}; nothing is learnt at such a rate.", 1.0, None
    return None


def _learns(signals: Signals) -> bool:
    """A loss or score got better beyond doubt: another schedule multiplies the rate, or it is enough."""
    curves = [c for c in (signals.val, signals.score, signals.train) if c is not None and len(c) >= MOVES_IN]
    return any(Progress(c).moved and c.reduction > LEARNT for c in curves)


def _dead_early(steps: Floats, values: Floats, peak: float) -> tuple[str, float, float | None] | None:
    """Gone long before the end, and not by a last decay that the run just sits out."""
    alive = np.flatnonzero(values > NOTHING * peak)
    last = int(alive[-1])
    where = (steps[last] - steps[0]) / max(steps[-1] - steps[0], 1e-12)
    if last < len(values) - 3 and where < DEAD_BY:
        text = (
            f"The learning rate is below a thousandth of its peak {num(peak)} after {percent(float(where))} of the "
            f"run, and ends at {num(float(values[-1]))}."
        )
        return text, 1.0 if where < 0.35 else 0.6, float(steps[last])
    return None


def _wrong_way(signals: Signals, steps: Floats, values: Floats) -> tuple[str, float, float | None] | None:
    """Cut again and again while what the scheduler waits on gets better: it waits for it to go the other way."""
    sentence, mode = signals.run.series.get("plateau_metric"), signals.run.config.get("plateau_mode")
    cuts = np.flatnonzero(values[1:] < CUT * values[:-1]) + 1
    if sentence is None or mode not in ("min", "max") or len(sentence) < MIN_SCHEDULED or not len(cuts):
        return None
    seen = sentence.values[np.isfinite(sentence.values)]
    against = mann_kendall(seen[-MAX_TREND_VALUES:]) * (1 if mode == "min" else -1)
    if len(seen) < MIN_SCHEDULED or against < SURE or not _got_better(signals, seen, rises=mode == "min"):
        return None
    way, waits = ("rises", "fall") if mode == "min" else ("falls", "rise")
    text = (
        f"ReduceLROnPlateau (mode='{mode}') waits for a {waits} of a value that {way} from {num(float(seen[0]))} to "
        f"{num(float(seen[-1]))}: it cut "
        f"the rate {len(cuts)} time{'s' * (len(cuts) != 1)} while the training got better."
    )
    return text, 1.0, float(steps[cuts[0]])


def _got_better(signals: Signals, seen: Floats, *, rises: bool) -> bool:
    """A score that rises, or a loss that falls, and not a validation loss that rises because the model learns by
    heart."""
    train, val = signals.train, signals.val
    if train is None or train.sign < 0 or train.now >= train.initial:
        return False
    if not rises:
        return True
    if val is None:  # no loss was evaluated, so it is a score
        return bool(seen.min() >= 0 and seen.max() <= 1)
    same = len(val) == len(seen) and bool(np.allclose(val.y, seen, rtol=SAME))
    return not same and val.sign > 0 and len(val) >= MIN_SCHEDULED and mann_kendall(val.y[-MAX_TREND_VALUES:]) <= 0


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
On the logged rate of the main parameter group: zero throughout, unless the objective moves all the same (verl and
others print three decimals, so that 1e-6 reads 0.000); a peak below 2e-7, unless the rate still rises or validation got
better by 10 %; below a thousandth of its peak before half of
the run is over; upward jumps of more than eight times after the warm-up at irregular distances. A recording also sees
what ReduceLROnPlateau is given: cut while that gets better (an accuracy that rises under mode='min' beside a validation
loss that does not, a loss that falls under mode='max') is present. Warm restarts at equal or growing distances, cosine
decay to zero and step decay are plans and pass; whether there was a warm-up is reported but is no finding by itself.

## Healthy range
Warm-up over the first 1 to 10 %, then constant, cosine, linear or step decay that ends with the run.

## What it usually means
The scheduler is stepped per batch with per-epoch numbers (or the reverse), total steps computed for another number of
GPUs or epochs, a scheduler rebuilt on resume, a rate that was scaled down twice, or a plateau scheduler in the wrong
mode.
""",
    detect=detect,
    cases=(
        Case("zero from the start", "present", lambda: {"loss": flat(50, 2.3), "lr": flat(50, 0.0)}),
        Case("printed with three decimals", "unknown",
             lambda: {"reward": ramp(50, 0.1, 0.7, 0.05), "lr": flat(50, 0.0)}),
        Case("gone after a tenth", "present", lambda: {"loss": falling(300, 2.3, 1.5),
                                                       "lr": then(cosine(30, 0.1), flat(270, 1e-6, 0))}),
        Case("far too small, saw-tooth", "present",
             lambda: {"loss": flat(60, 4.1), "lr": then(*[np.linspace(0, 1e-7, 20)] * 3)}),
        Case("tiny, but validation falls", "absent",
             lambda: {"loss": falling(60, 2.6, 2.0), "val_loss": falling(60, 2.7, 2.0), "lr": flat(60, 1e-7, 0)}),
        Case("the first steps of a long warm-up", "absent",
             lambda: {"loss": flat(60, 0.7), "lr": ramp(60, 1e-9, 1.5e-7, 0)}),
        Case("warm-up and cosine", "absent", lambda: {"loss": falling(300, 2.3, 0.5), "lr": cosine(300, 1e-3, 20)}),
        Case("warm restarts", "absent", lambda: {"loss": falling(300, 2.3, 0.5),
                                                 "lr": then(cosine(100, 0.1), cosine(100, 0.1), cosine(100, 0.1))}),
        Case("cut while the accuracy rises", "present",
             lambda: {"train_loss": falling(100, 2.3, 1.2), "val_loss": falling(10, 2.2, 1.3),
                      "lr": then(*[flat(20, 0.1 * 0.2**k, 0) for k in range(5)]),
                      "plateau_metric": ramp(10, 0.2, 0.6)}, {"plateau_mode": "min"}),
        Case("cut because the validation loss rises", "absent",
             lambda: {"train_loss": falling(100, 2.3, 0.1), "val_loss": ramp(10, 0.5, 0.9),
                      "lr": then(*[flat(20, 0.1 * 0.2**k, 0) for k in range(5)]),
                      "plateau_metric": ramp(10, 0.5, 0.9)}, {"plateau_mode": "min"}),
        Case("not logged", "unknown", lambda: {"loss": falling(300, 2.3, 0.5)}),
    ),
)  # fmt: skip
