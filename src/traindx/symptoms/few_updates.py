"""few-updates: the training ended by itself after a handful of updates."""

from __future__ import annotations

import numpy as np
from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import InitialWeights, Measured, TrainingEnd
from traindx.run import Event
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.started import from_scratch, knew_text
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import FromMeasurements, seen
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.thresholds import Threshold, fitted

ID = "few-updates"
HANDFUL = fitted(f"{ID}.handful", 49, unit="updates; fewer are hardly a training", side="below")
STILL_HIGH = fitted(f"{ID}.still-high", 0.7, unit="of the first loss, after a handful of updates")
SOME = fitted(f"{ID}.some", 149, unit="updates, with a loss that has hardly moved", side="below")
HARDLY_MOVED = fitted(f"{ID}.hardly-moved", 0.9, unit="of the first loss, after some updates")
FEWEST = fitted(f"{ID}.fewest", 20, unit="updates; with fewer, a loss that still falls was not trained to its end")
UNFINISHED = fitted(f"{ID}.unfinished", 0.3, unit="of the first loss, where it still falls")
STILL_FALLING = fitted(
    f"{ID}.still-falling", 0.9, unit="of the loss before, in the last third of the updates", side="below"
)
EVEN_PACE = fitted(f"{ID}.even-pace", 0.6, unit="of the fall from the first third to the second, added by the last")
ROSE = Threshold(2.0, "times the first loss", "a loss that has doubled grew; more updates would make it grow on")
FALLING_CLEAR = 0.8  # clarity where the loss was still falling fast
TOO_FEW = fitted(f"{ID}.few", 199, unit="updates: a run that was still on its way has hardly begun", side="below")
MIN_LOSSES = Threshold(6, "losses", "three parts of two")
STEADY = fitted(f"{ID}.steady", 0.5, unit="of the fall from the first third to the second, added by the last")
SIGMAS = Threshold(3.0, "standard errors", "one descent in seven hundred looks so by the scatter of batches alone")
LAST_EVALUATION = fitted(f"{ID}.last-evaluation", 0.15, unit="of the validation loss gone between the last two values")
CLEAR = 0.75  # clarity of a descent that the curves show


def judge(measured: Measured) -> Observation | None:
    """Whether the training ended by itself before it had begun to learn."""
    end = measured.last(TrainingEnd)
    if end is None or end.cut_short or end.first_loss is None or end.last_loss is None:
        return None
    share = end.last_loss / end.first_loss if end.first_loss > 0 else 0.0
    if ROSE.reached(share):
        return seen(ID, False, f"The loss rose to {num(share)} times its first value: no lack of updates.", at=end)
    begins = f"The training ended by itself after {end.updates} updates"
    if known := knew_text(measured, end.first_loss):
        return seen(ID, False, known, at=end)
    handful = HANDFUL.reached(_evaluations(end)) and STILL_HIGH.reached(share)
    if not handful and _still_falls(end, share):
        text = f"{begins}, while the loss was still falling fast ({percent(share)} of its first value)."
        return seen(ID, True, text, at=end, clarity=FALLING_CLEAR)
    some = SOME.reached(_evaluations(end))
    if handful or (some and HARDLY_MOVED.reached(share)):
        return seen(ID, True, f"{begins}; the loss is still {percent(share)} of its first value.", at=end)
    return None if some else seen(ID, False, f"The training ended after {end.updates} updates.", at=end)


def _evaluations(end: TrainingEnd) -> int:
    """Gradients that were used: an update of L-BFGS is worth as many updates as it evaluates its closure."""
    return end.updates + end.closures_again


def _still_falls(end: TrainingEnd, share: float) -> bool:
    third = len(end.losses) // 3
    if not third:
        return False
    if not FEWEST.reached(_evaluations(end)):
        before = sum(end.losses[-2 * third : -third])
        return before > 0 and STILL_FALLING.reached(sum(end.losses[-third:]) / before)
    start, middle, last = (sum(end.losses[third * part : third * (part + 1)]) for part in range(3))
    steady = start > middle > last and EVEN_PACE.reached((middle - last) / (start - middle))
    return steady and HANDFUL.reached(_evaluations(end)) and UNFINISHED.reached(share)


class _Detector(FromMeasurements):
    """Asks the curves where the end alone says nothing."""

    def __call__(self, signals: Signals) -> Observation:
        found = super().__call__(signals)
        if found.state == "present":
            return found
        descent = _in_descent(signals)
        return descent if descent.state == "present" else found


def _in_descent(signals: Signals) -> Observation:
    """A training of a hundred updates that ended by itself while it still fell as it had from the first."""
    train, val = signals.train, signals.val
    ended = any(event.kind == "finished" for event in signals.run.events)
    if not ended or not signals.run.seen_inside or train is None or not _is_short(train):
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
        ID,
        "present",
        f"The training ended by itself after {len(train)} updates, while {says}.",
        (float(train.x[0]), float(train.x[-1])),
        train.name,
        CLEAR,
    )


def _is_short(train: Curve) -> bool:
    return train.series.axis == "step" and MIN_LOSSES.reached(len(train)) and TOO_FEW.reached(len(train))


def _of_updates(train: Curve) -> bool:
    """A value for every update, and not for every tenth or for every epoch."""
    return train.series.axis == "step" and float(train.x[-1] - train.x[0]) + 1 == len(train)


def _last_evaluation(val: Curve) -> str:
    before, last = float(val.y[-2]), float(val.y[-1])
    if last <= 0 or not LAST_EVALUATION.reached(1 - last / before) or not UNFINISHED.reached(last / val.y[0]):
        return ""
    return f"{val.name} still fell from {num(before)} to {num(last)} between its last two values"


def _last_third(train: Curve) -> str:
    parts = np.array_split(train.y, 3)
    start, middle, end = (float(part.mean()) for part in parts)
    scatter = float(np.hypot(*(np.diff(part).std() / np.sqrt(2 * len(part)) for part in parts[1:])))
    if not start > middle > end > 0 or not train.y[0] > 0 or not UNFINISHED.reached(end / train.y[0]):
        return ""
    if scatter > 0 and not SIGMAS.reached((middle - end) / scatter):
        return ""
    pace = (middle - end) / (start - middle)
    return (
        f"the last third of them still lowered {train.name} by {percent(min(pace, 1.0))} of what the second had"
        if STEADY.reached(pace)
        else ""
    )


ENDED = (Event("finished", "The script came to its own end."),)
FRESH = (InitialWeights(kurtosis=(1.8, 1.81), elements=(1024, 1024)),)
TRAINED = (InitialWeights(kurtosis=(3.1, 4.2), elements=(1024, 1024)),)
TEN = TrainingEnd(updates=10, cut_short=False, first_loss=2.3, last_loss=2.23, losses=(2.3, 2.23) * 5)
FALLING = TrainingEnd(
    updates=30, cut_short=False, first_loss=2.3, last_loss=1.2, losses=tuple(2.3 - 0.037 * n for n in range(30))
)

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
A recording counts the updates themselves, so it cannot take epochs for steps. Present when the script ended without an
error and without `--steps` after fewer than 50 updates with a last loss above 70 % of the first, or above 30 % where it
fell to the end as fast as at first (with fewer than 20 updates wherever the last third of them lowered the loss by a
tenth), or after fewer than 150 with one above 90 %. Up to 200 updates it is also present when the training ended in
full descent: the last two values of the validation loss lie 15 % apart, or the last third of the updates lowered the
loss by more than half of what the second third had, beyond three standard errors, and it is still above 30 % of the
first. The last validation loss must be the best, and the weights as torch initialises them.

## Healthy range
Hundreds of updates, even for small data. An epoch over few samples in large batches is only a few updates: two epochs
of five batches are ten.

## What it usually means
Too few epochs for the size of the data set, a batch so large that an epoch has hardly any updates, or a loop that was
left early.
""",
    detect=_Detector(ID, judge),
    cases=(
        Case("ten updates", "present", measured=(TEN,)),
        Case("ten updates, as asked for", "unknown", measured=(replace(TEN, cut_short=True),)),
        Case("thirty that fall to the end", "present", measured=(FALLING,)),
        Case(
            "thirty that have slowed",
            "unknown",
            measured=(replace(FALLING, losses=(2.3,) * 10 + (1.3,) * 10 + (1.2,) * 10),),
        ),
        Case(
            "a hundred that move nothing",
            "present",
            measured=(TrainingEnd(updates=100, cut_short=False, first_loss=2.3, last_loss=2.2),),
        ),
        Case(
            "a hundred that learn",
            "unknown",
            measured=(TrainingEnd(updates=100, cut_short=False, first_loss=2.3, last_loss=1.2),),
        ),
        Case(
            "long enough",
            "absent",
            measured=(TrainingEnd(updates=1200, cut_short=False, first_loss=2.3, last_loss=2.2),),
        ),
        Case("a log alone", "unknown"),
        Case(
            "three epochs, the last as good as the first",
            "present",
            lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)},
            {},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "validation halves at the last look",
            "present",
            lambda: {"train_loss": falling(60, 0.9, 0.3, 0.1), "val_loss": [0.6, 0.31]},
            {},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "a hundred updates that have slowed",
            "unknown",
            lambda: {"train_loss": falling(114, 2.3, 0.8, 0.02), "val_loss": [0.9, 0.85, 0.84]},
            {},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "a hundred updates without validation",
            "unknown",
            lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05)},
            {},
            ENDED,
            measured=FRESH,
        ),
        Case(
            "a hundred updates that were stopped",
            "unknown",
            lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)},
            measured=FRESH,
        ),
        Case("epochs of a log", "unknown", lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05)}, {}, ENDED),
        Case(
            "a hundred updates of a trained model",
            "unknown",
            lambda: {"train_loss": ramp(114, 2.3, 1.44, 0.05), "val_loss": ramp(3, 2.2, 1.44)},
            {},
            ENDED,
            measured=TRAINED,
        ),
        Case(
            "the loss grew beyond all bounds",
            "absent",
            measured=(TrainingEnd(updates=30, cut_short=False, first_loss=2.3, last_loss=2e36, losses=(2.3, 2e36)),),
        ),
        Case(
            "learns nothing",
            "unknown",
            lambda: {"train_loss": flat(114, 2.3, 0.05), "val_loss": flat(3, 2.3, 0.01)},
            {},
            ENDED,
            measured=FRESH,
        ),
    ),
)
