"""chosen-pushed-down: the chosen answer is made less probable than the rejected one."""

from __future__ import annotations

from traindx.measurements import ObjectiveSlopes
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements
from traindx.symptoms.pushed_sides import OBJECTIVE, judge_sides

ID = "chosen-pushed-down"

SYMPTOM = Symptom(
    id=ID,
    title="the chosen answer is made less probable than the rejected one",
    severity="problem",
    family="preference",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The loss over pairs lowers the log-probability (or the score) of the chosen answer and raises that of the rejected
one.

## How it is measured
The derivative of the loss with respect to the variables that hold the two, summed over the pairs, at each look.

## Healthy range
The chosen answer goes up and the rejected one down, by comparison; both log-probabilities may fall in absolute
terms.

## What it usually means
The two were exchanged on the way into the loss, or a minus is missing before logsigmoid.
""",
    detect=from_measurements(
        ID,
        judge_sides(
            ID, lambda one: one.chosen_down, lambda one: one.chosen_up, "lowers the chosen answer, not the rejected one"
        ),
    ),
    cases=(
        Case("the wrong way", "present", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, chosen_down=6),)),
        Case("the right way", "absent", measured=(OBJECTIVE, ObjectiveSlopes(looks=6, pairs=6, chosen_up=6),)),
        Case("two looks", "unknown", measured=(OBJECTIVE, ObjectiveSlopes(looks=2, pairs=2, chosen_down=2),)),
        Case("of a loss that is no policy's", "unknown", measured=(ObjectiveSlopes(looks=6, pairs=6, chosen_down=6),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
