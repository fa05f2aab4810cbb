"""entropy-pushed-down: the loss lowers the entropy of the policy."""

from __future__ import annotations

from traindx.measurements import ObjectiveSlopes
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements
from traindx.symptoms.pushed_sides import OBJECTIVE, judge_sides

ID = "entropy-pushed-down"

SYMPTOM = Symptom(
    id=ID,
    title="the loss lowers the entropy of the policy",
    severity="problem",
    family="exploration",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
An entropy term is part of the loss and makes the policy more certain instead of less.

## How it is measured
The derivative of the loss with respect to the variable that holds the entropy.

## Healthy range
Negative: entropy is a bonus.

## What it usually means
The bonus is added to the loss instead of subtracted from it.
""",
    detect=from_measurements(
        ID, judge_sides(ID, lambda one: one.entropy_down, lambda one: one.entropy_up, "lowers the entropy")
    ),
    cases=(
        Case("the wrong way", "present", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, entropy_down=6),)),
        Case("the right way", "absent", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, entropy_up=6),)),
        Case("two looks", "unknown", measured=(OBJECTIVE, ObjectiveSlopes(looks=2, pairs=2, entropy_down=2),)),
        Case("of a loss that is no policy's", "unknown", measured=(ObjectiveSlopes(looks=6, pairs=6, entropy_down=6),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
