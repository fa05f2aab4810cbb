"""spike-at-rate-change: loss and learning rate jump at the same step."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.loss_spike import find_spikes
from traindx.symptoms.recipes import falling, flat, put, then
from traindx.thresholds import Threshold

ID = "spike-at-rate-change"
RISE = Threshold(
    1.5, "times the rate before", "schedules that are meant to be smooth change by less between rows", strong=5.0
)
NEAR = 5  # rows between the change and the jump
ROWS = 10  # values of the rate


def detect(signals: Signals) -> Observation:
    curve, lr = signals.train, signals.lr
    if curve is None or lr is None or len(lr) < ROWS or not len(curve.x[1:]) or lr.axis != curve.series.axis:
        return Observation(ID, "unknown", "No loss with a learning rate beside it.")
    rates = np.nan_to_num(lr.values)
    jumps = [i for i in range(1, len(rates)) if rates[i - 1] > 0 and RISE.reached(rates[i] / rates[i - 1])]
    reach = NEAR * max(float(np.median(np.diff(curve.x))), float(np.median(np.diff(lr.steps))))
    for i in jumps:
        left = _left_for_good(curve, float(lr.steps[i]))
        if left is not None:
            before, after = float(rates[i - 1]), float(rates[i])
            text = (
                f"{curve.name} rose from {num(left[0])} to {num(left[1])} at {curve.at(float(lr.steps[i]))}, where the "
                f"learning rate went from {num(before)} to {num(after)}."
            )
            place = (float(lr.steps[i]), float(curve.x[-1]))
            return Observation(ID, "present", text, place, curve.name, RISE.clarity(after / before))
    for spike in find_spikes(curve):
        near = [i for i in jumps if 0 <= spike.step - float(lr.steps[i]) <= reach]
        if near:
            before, after = float(rates[near[-1] - 1]), float(rates[near[-1]])
            text = (
                f"{curve.name} jumps from {num(spike.base)} to {num(spike.height)} at {curve.at(spike.step)}, right "
                f"after the learning rate went from {num(before)} to {num(after)}: the schedule is the first suspect."
            )
            place = (float(lr.steps[near[-1]]), spike.step)
            return Observation(ID, "present", text, place, curve.name, RISE.clarity(after / before))
    return Observation(ID, "absent", "No jump of the loss follows a rise of the learning rate.")


def _left_for_good(curve: Curve, step: float) -> tuple[float, float] | None:
    """The levels before and after the change, where every one of so many values after it is above all of those before
    it: by chance one in 184,756."""
    before, since = curve.y[curve.x < step][-ROWS:], curve.y[curve.x > step]
    if len(before) < ROWS or len(since) < ROWS:
        return None
    after = np.concatenate([since[:ROWS], since[-ROWS:]])  # a restart on plan comes back
    return (float(np.median(before)), float(np.median(after))) if after.min() > before.max() else None


SYMPTOM = Symptom(
    id=ID,
    title="loss and learning rate jump at the same step",
    severity="note",
    kind="setting",
    family="setting rate change",
    background=0.01,
    needs=("loss and learning rate",),
    doc="""
## What is observed
The loss jumps, or rises for good, within a few rows of a sudden rise of the learning rate.

## How it is measured
A spike of the training loss (see loss-spike) no more than five rows after a rate at least 1.5 times the one before;
plain from five times. Or no value of the ten after such a rise is as low as any of the ten before it.

## Healthy range
A warm restart raises the loss for a while; it comes back before the next.

## What it usually means
The schedule: a restart, a wrong unit (epochs for steps), a rate that is set anew after a resume.
""",
    detect=detect,
    cases=(
        Case("the rate rises tenfold", "present",
             lambda: {"loss": put(falling(100, 2.0, 1.0), 51, 4.0), "lr": then(flat(50, 1e-3, 0), flat(50, 1e-2, 0))}),
        Case("the rate rises and the loss leaves its level", "present",
             lambda: {"loss": then(falling(50, 2.0, 0.5), flat(50, 3.0, 0.1)), "lr": then(flat(50, 1e-3, 0),
                                                                                      flat(50, 1e-2, 0))}),
        Case("a spike elsewhere", "absent",
             lambda: {"loss": put(falling(100, 2.0, 1.0), 80, 4.0), "lr": then(flat(50, 1e-3, 0), flat(50, 1e-2, 0))}),
        Case("no rate", "unknown", lambda: {"loss": put(falling(100, 2.0, 1.0), 51, 4.0)}),
    ),
)  # fmt: skip
