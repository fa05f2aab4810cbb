"""few-updates: the training ended by itself after a handful of updates."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Event, Fact
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.started import from_scratch
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import cases_of, from_fact
from traindx.symptoms.recipes import falling, flat, ramp

ID = "few-updates"
FEW = 200  # updates: a run that ends by itself before them has hardly begun, if it was still on its way
LEAST = 6  # losses that make three parts
UNFINISHED = 0.3  # of the first loss
STEADY = 0.5  # of the fall from the first third to the second, which the last third still added
SIGMAS = 3.0  # by which that is more than the scatter of batches
LAST_EVALUATION = 0.15  # of the validation loss gone between the last two values
CLEAR = 0.75


_told = from_fact(ID)


def detect(signals: Signals) -> Observation:
    told = _told(signals)
    if told.state == "present":
        return told
    descent = _in_descent(signals)
    return descent if descent.state == "present" else told


def _in_descent(signals: Signals) -> Observation:
    """A training of a hundred updates that ended by itself while it still fell as it had from the first."""
    train, val = signals.train, signals.val
    ended = any(event.kind == "finished" for event in signals.run.events)
    if (
        not ended
        or not signals.run.seen_inside
        or train is None
        or not LEAST <= len(train) < FEW
        or train.series.axis != "step"
    ):
        return Observation(ID, "unknown", "Only a recording of a whole training from the inside shows this.")
    if signals.kind != "supervised" or not from_scratch(signals):
        return Observation(ID, "unknown", "How many updates this kind of training needs is not known.")
    if val is None or len(val) < 2 or val.sign < 0 or val.y[-1] > val.y.min():
        return Observation(
            ID, "unknown", "Without a validation loss that was best at last nobody knows that more would help."
        )
    says = _last_evaluation(val) or _last_third(train)
    if not says:
        return Observation(ID, "unknown", f"The training ended after {len(train)} updates, and its descent had slowed.")
    return Observation(
        ID, "present", f"The training ended by itself after {len(train)} updates, while {says}.",
        (float(train.x[0]), float(train.x[-1])), train.name, CLEAR,
    )  # fmt: skip


def _of_updates(train: Curve) -> bool:
    """A value for every update, and not for every tenth or for every epoch."""
    return train.series.axis == "step" and float(train.x[-1] - train.x[0]) + 1 == len(train)


def _last_evaluation(val: Curve) -> str:
    before, last = float(val.y[-2]), float(val.y[-1])
    if last <= 0 or last > (1 - LAST_EVALUATION) * before or last < UNFINISHED * val.y[0]:
        return ""
    return f"{val.name} still fell from {num(before)} to {num(last)} between its last two values"


def _last_third(train: Curve) -> str:
    parts = np.array_split(train.y, 3)
    start, middle, end = (float(part.mean()) for part in parts)
    scatter = float(np.hypot(*(np.diff(part).std() / np.sqrt(2 * len(part)) for part in parts[1:])))
    if not start > middle > end > UNFINISHED * train.y[0] > 0 or middle - end < SIGMAS * scatter:
        return ""
    pace = (middle - end) / (start - middle)
    return (
        f"the last third of them still lowered {train.name} by {percent(min(pace, 1.0))} of what the second had"
        if pace > STEADY
        else ""
    )


ENDED = (Event("finished", "The script came to its own end."),)
FRESH = {"weights_dealt_out": 1.0}
RECORDED = (Fact("no-gradient", False, "All layers receive one."),)

SYMPTOM = Symptom(
    id=ID,
    title="ended after a handful of updates",
    severity="problem",
    family="few-updates",
    background=0.01,
    needs=("recording from the inside",),
    doc="""
## What is observed
The script came to its own end after fewer than fifty optimiser updates, and the loss had not fallen by much.

## How it is measured
A recording counts the updates themselves, so it cannot take epochs for steps. Present when the script ended without an error
and without `--steps` after fewer than 50 updates with a last loss above 70 % of the first, or above 30 % where it fell to the end as
fast as at first, or after fewer than 150 with one above 90 %. Up to 200 updates it is also present when the training ended in full
descent: the last two values of the validation loss lie 15 % apart, or the last third of the updates lowered the loss by more than half of
what the second third had, beyond three standard errors, and it is still above 30 % of the first. The last validation loss must be the best, and the weights freshly dealt out.

## Healthy range
Hundreds of updates, even for small data. An epoch over few samples in large batches is only a few updates: two epochs of five
batches are ten.

## What it usually means
Too few epochs for the size of the data set, a batch so large that an epoch has hardly any updates, or a loop that was left early.
""",
    detect=detect,
    cases=(
        *cases_of(
            ID,
            "The training ended by itself after 10 updates; the loss is still 97 % of its first value.",
            "The training ended after 1200 updates.",
        ),
        Case("three epochs, the last as good as the first", "present",
             lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)}, FRESH, ENDED, RECORDED),
        Case("validation halves at the last look", "present",
             lambda: {"train_loss": falling(60, 0.9, 0.3, 0.1), "val_loss": [0.6, 0.31]}, FRESH, ENDED, RECORDED),
        Case("a hundred updates that have slowed", "unknown",
             lambda: {"train_loss": falling(114, 2.3, 0.8, 0.02), "val_loss": [0.9, 0.85, 0.84]}, FRESH, ENDED, RECORDED),
        Case("a hundred updates without validation", "unknown", lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05)}, FRESH, ENDED, RECORDED),
        Case("a hundred updates that were stopped", "unknown",
             lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)}, FRESH, (), RECORDED),
        Case("epochs of a log", "unknown", lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05)}, {}, ENDED),
        Case("a hundred updates of a trained model", "unknown",
             lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)}, {}, ENDED, RECORDED),
        Case("learns nothing", "unknown", lambda: {"train_loss": flat(114, 2.3, 0.05), "val_loss": flat(3, 2.3, 0.01)}, FRESH, ENDED, RECORDED),
    ),
)  # fmt: skip
