"""optimizer-rebuilt: the optimiser is built anew again and again."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RebuiltOptimizers, TrainingEnd
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "optimizer-rebuilt"
TIMES = fitted(f"{ID}.times", 3, unit="times with the same settings; stages of a training are fewer")
UPDATES = Threshold(50, "updates in all, to be called absent", "an epoch of fewer has no second optimiser to build")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(RebuiltOptimizers)
    often = [one for one in looks if TIMES.reached(one.rebuilt)]
    if often:
        first = often[0]
        return seen(
            ID,
            True,
            f"The optimiser was re-created over the same parameters with the same settings {first.rebuilt} times by "
            f"step {first.step}; each time its momentum and moments start from nothing.",
            at=first,
        )
    end = measured.last(TrainingEnd)
    if not looks or end is None or not UPDATES.reached(end.updates):
        return None
    return seen(ID, False, f"No optimiser was re-created in {end.updates} updates.", at=end)


END = TrainingEnd(updates=500, cut_short=False)

SYMPTOM = Symptom(
    id=ID,
    title="optimiser is rebuilt during training",
    severity="problem",
    family="rebuilt",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A new optimiser over the same parameters, with the same settings, replaces the old one several times in the training:
momentum and moments are lost each time.

## How it is measured
Every optimiser that is constructed, its parameters and settings. Three times at least; new models, other settings
(stages of a training), other weights loaded in between and plain SGD, which has no state, do not count. Weights that
are loaded as they were left do: the training goes on, and the optimiser's state was not loaded with them.

In a checkpoint: the optimiser's own step count is less than half of the trainer's, or its state is empty.

## Healthy range
One optimiser, or one for each stage.

## What it usually means
The optimiser is constructed inside the loop over epochs or batches, or a checkpoint holds the model alone.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "once an epoch",
            "present",
            measured=tuple(RebuiltOptimizers(rebuilt=n, step=50 * n, where="train.py:12") for n in range(1, 10)),
        ),
        Case("two stages more", "absent", measured=(RebuiltOptimizers(rebuilt=2), END)),
        Case("built once", "absent", measured=(RebuiltOptimizers(rebuilt=0), END)),
        Case(
            "too few updates",
            "unknown",
            measured=(RebuiltOptimizers(rebuilt=0), TrainingEnd(updates=30, cut_short=False)),
        ),
        Case("a log alone", "unknown"),
    ),
)
