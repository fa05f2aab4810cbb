"""kl-pushed-up: the loss rewards distance from the reference."""

from __future__ import annotations

from traindx.measurements import ObjectiveSlopes
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements
from traindx.symptoms.pushed_sides import OBJECTIVE, judge_sides

ID = "kl-pushed-up"

SYMPTOM = Symptom(
    id=ID,
    title="the loss rewards distance from the reference",
    severity="problem",
    family="kl",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Gradient descent on the loss makes the distance between policy and reference larger.

## How it is measured
The derivative of the loss with respect to the variable that holds the distance, with the sign of that variable: log
reference - log policy is a negative distance.

## Healthy range
The derivative is positive: the distance costs something.

## What it usually means
The penalty is subtracted from the loss instead of added, or the two log-probabilities in it are exchanged.
""",
    detect=from_measurements(
        ID, judge_sides(ID, lambda one: one.kl_up, lambda one: one.kl_down, "raises the distance from the reference")
    ),
    cases=(
        Case("the wrong way", "present", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, kl_up=6),)),
        Case("the right way", "absent", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, kl_down=6),)),
        Case("two looks", "unknown", measured=(OBJECTIVE, ObjectiveSlopes(looks=2, pairs=2, kl_up=2),)),
        Case("of a loss that is no policy's", "unknown", measured=(ObjectiveSlopes(looks=6, pairs=6, kl_up=6),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
