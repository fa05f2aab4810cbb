"""schedule-before-optimizer: scheduler stepped before the optimiser."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "schedule-before-optimizer"

SYMPTOM = Symptom(
    id=ID,
    title="scheduler stepped before the optimiser",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
`scheduler.step()` is called before the first `optimizer.step()`.

## How it is measured
The order of the first calls for each optimiser.

## Healthy range
The optimiser first, then the scheduler.

## What it usually means
The first value of the schedule is skipped; a warm-up starts one step late. Seldom the reason of a failure by itself.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "LambdaLR was stepped before its optimiser: the first learning rate of the schedule is never used.",
        "StepLR was stepped after its optimiser.",
    ),
)
