"""one-label-only: one label only."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "one-label-only"

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
A recording counts the targets of each look at the loss: at least 8 batches at different times and 200 targets, all of
one class, although the loss has several.

## Healthy range
None for a classification. A discriminator is trained with one label in each call; calls of different places and
trainings with several optimisers are left out.

## What it usually means
Labels that were read from the wrong column, lost in a cast (0.7 becomes 0), overwritten, or a data set of which only
one class is loaded.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "All 1600 targets in 25 looks at cross_entropy are class 0, of 10.",
        "Several classes occur.",
    ),
)
