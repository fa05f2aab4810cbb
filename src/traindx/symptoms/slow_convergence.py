"""slow-convergence: falls, but far slower than the evidence says it could."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Fact
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.progress import MOVED, TREND, Progress
from traindx.signals.rates import still_warming_up
from traindx.signals.score import Score
from traindx.signals.started import begins_late, trained_before
from traindx.symptoms.base import Case, Symptom, clarity, percent
from traindx.symptoms.recipes import falling, flat, ramp

ID = "slow-convergence"
MIN_POINTS = 8
LITTLE = 0.35  # of the initial loss, over the whole run
STRAIGHT, LITTLE_STRAIGHT = 0.8, 0.45  # where the line hardly bends at all, a little more may be gone
UNBENT = 0.5  # slope of the second half against the first: an ordinary descent bends, a too small step does not
GOT_THERE = 0.7  # of the validation loss or error gone: whatever the training loss measures, the model learnt
TIMES = 3.0  # its first value, where a score is at its best
HALF_WAY = 0.5  # of what the validation score lacked at first
TURNED = 0.7  # of the run: validation that was best before this has been learnt past


def detect(signals: Signals) -> Observation:
    curve = signals.main
    if curve is None or len(curve) < MIN_POINTS or curve.sign < 0:
        return Observation(ID, "unknown", "No loss long enough to judge its pace.")
    before = begins_late(signals, curve) or trained_before(signals) or still_warming_up(signals)
    if before:
        return Observation(ID, "unknown", before)
    if signals.kind == "gan" and curve.reduction < LITTLE:
        return Observation(ID, "unknown", "Beside an adversarial loss nobody knows how far this one could fall.")
    x, y, course = curve.bins.x, curve.bins.median, Progress(curve)
    share, bend = course.share, course.bend
    moves = TREND.reached(course.trend) and course.moved
    val = signals.val
    turned = val is not None and len(val) >= MIN_POINTS and val.clock_share(val.best_at) < TURNED and val.rise > 0
    if turned and val is not None:
        return Observation(
            ID, "absent", f"{val.name} was best at {val.at(val.best_at)}: not the pace is what is missing."
        )
    if val is not None and len(val) >= MIN_POINTS and val.reduction >= GOT_THERE:
        return Observation(ID, "absent", f"{val.name} fell by {percent(val.reduction)} in the same run.")
    gained = _score_gained(signals.score)
    if signals.score is not None and (gained >= HALF_WAY or _multiplied(signals.score)):
        return Observation(
            ID, "absent", f"{signals.score.name} gained {percent(gained)} of what it lacked in the same run."
        )
    whole = 1 - curve.best / float(curve.y[0]) if curve.y[0] > 0 else share
    little = (LITTLE_STRAIGHT if bend > STRAIGHT else LITTLE) if whole < LITTLE_STRAIGHT else 0.0
    if moves and MOVED.reached(share) and share < little and bend > UNBENT and np.argmin(y) > 0.8 * len(y):
        return Observation(
            ID, "present", f"{curve.name} fell by only {percent(share)} over the whole run, in an almost straight line "
            f"(the usual loss falls fastest at first).",
            (float(x[0]), float(x[-1])), curve.name, clarity(bend, UNBENT, 1.0),
        )  # fmt: skip
    return Observation(
        ID,
        "absent",
        f"{curve.name} fell by {percent(max(share, 0.0))}; its second half is {bend:.2f} times as steep as the first.",
    )


def _score_gained(score: Curve | None) -> float:
    """The share of what a score lacked at first that it has gained; 0 where its top is unknown."""
    if score is None or len(score) < MIN_POINTS or score.sign > 0:
        return 0.0
    return Score(score).gained


def _multiplied(score: Curve) -> bool:
    """A score that is at its best and three times what it was: it is on its way."""
    first, now = score.logged(score.initial), score.logged(score.now)
    return len(score) >= MIN_POINTS and score.sign < 0 and first > 0 and now > TIMES * first and score.rise <= 0


SYMPTOM = Symptom(
    id=ID,
    title="converges very slowly",
    severity="problem",
    family="no-progress",
    background=0.04,
    needs=("loss",),
    doc="""
## What is observed
The loss falls all the time but has hardly got anywhere.

## How it is measured
An ordinary descent is steep first and bends. Present when the loss fell significantly, by less than 35 % over the whole
run, ends at its best, and its second half is at least half as steep as its first, unless the validation score gained
half of what it lacked: a straight line means that every step was as small as the first one. Beside adversarial losses
only the reconstruction is looked at: its calm rules this out, a slow pace of it says nothing.

## Healthy range
A falling curve that bends. Fine-tuning from a good start may fall by little; it bends too.

## What it usually means
A learning rate far below what the loss would bear, gradients that vanish on their way to the early layers, inputs on
scales that force small steps, clipping that cuts every step, or a schedule that never leaves its warm-up.
""",
    detect=detect,
    cases=(
        Case("the reconstruction of an adversarial training falls calmly", "absent",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": falling(200, 2.4, 0.8)}),
        Case("validation was best half way", "absent",
             lambda: {"train_loss": ramp(10, 0.52, 0.36),
                      "val_loss": [0.51, 0.48, 0.472, 0.477, 0.475, 0.465, 0.484, 0.49, 0.498, 0.505]}),
        Case("validation error got there", "absent",
             lambda: {"cost": ramp(100, 0.27, 0.22), "validation error": falling(300, 88.0, 6.0)}),
        Case("accuracy got there", "absent", lambda: {"loss": ramp(50, 29.0, 26.9, 0.001),
                                                      "val_acc": np.linspace(61.0, 81.4, 50)}),
        Case("straight and shallow", "present", lambda: {"train_loss": ramp(300, 2.30, 1.9, 0.01)}),
        Case("straight through noise, a little more than a third", "present",
             lambda: {"train_loss": ramp(3000, 16.5, 10.4, 0.15)}),
        Case("ordinary descent", "absent", lambda: {"train_loss": falling(300, 2.3, 0.4)}),
        Case("flat", "absent", lambda: {"train_loss": flat(300, 2.3)}),
        Case("fine-tuning", "unknown", lambda: {"train_loss": ramp(300, 0.6, 0.5, 0.005),
                                                "val_loss": ramp(10, 0.6, 0.5)},
             {"num_classes": 10}, facts=(Fact("no-gradient", False, "All receive one."),)),
        Case("returns", "unknown", lambda: {"ep_rew_mean": ramp(100, -400, -200)}),
    ),
)  # fmt: skip
