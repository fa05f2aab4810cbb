"""one-label-only: one label only."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ClassPredictions, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.newest import in_order, newest
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.predicted import class_predictions, is_settled
from traindx.thresholds import fitted

ID = "one-label-only"
MIN_LOOKS = fitted(f"{ID}.looks", 8, unit="batches looked at")
TARGETS = fitted(f"{ID}.targets", 100, unit="targets")


def judge(measured: Measured) -> Observation | None:
    return newest(map(_judge, in_order(measured.all(ClassPredictions))))


def _judge(look: ClassPredictions) -> Observation | None:
    if not is_settled(look):
        return None
    if look.occurring > 1:
        sentence = f"{look.occurring} of {look.classes} classes occur among the targets of {look.criterion}."
        return seen(ID, False, sentence, at=look)
    if look.occurring == look.sites == 1 and MIN_LOOKS.reached(look.looks) and TARGETS.reached(look.targets):
        sentence = (
            f"All {look.targets} targets of {look.criterion} in {look.looks} checked batches have the same class."
        )
        return seen(ID, True, sentence, at=look)
    return None


SYMPTOM = Symptom(
    id=ID,
    title="one label only",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
Every target seen is the same class.

## How it is measured
A recording counts the targets of each look at the loss: after 100 updates, at least 8 batches at different times
and 100 targets, all of one class, although the loss has several. The last looks count.

## Healthy range
None for a classification. A discriminator is trained with one label in each call; calls of different places and
trainings with several optimisers are left out.

## What it usually means
Labels that were read from the wrong column, lost in a cast (0.7 becomes 0), overwritten, or a data set of which only
one class is loaded.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("one class of ten", "present", measured=(class_predictions(targets=1600, most=1600, occurring=1),)),
        Case("two classes", "absent", measured=(class_predictions(targets=1600, most=1599, occurring=2),)),
        Case(
            "one at first",
            "absent",
            measured=(
                class_predictions(targets=1600, most=1600, occurring=1),
                class_predictions(step=400, targets=3200, most=1600, occurring=2),
            ),
        ),
        Case("99 targets", "unknown", measured=(class_predictions(targets=99, most=99, occurring=1),)),
        Case("7 looks", "unknown", measured=(class_predictions(looks=7, targets=448, most=448, occurring=1),)),
        Case("a discriminator", "unknown", measured=(class_predictions(sites=2, targets=640, most=640, occurring=1),)),
        Case("two optimisers", "unknown", measured=(class_predictions(optimizers=2, most=640, occurring=1),)),
        Case("the first updates", "unknown", measured=(class_predictions(step=99, most=640, occurring=1),)),
        Case("a log alone", "unknown"),
    ),
)
