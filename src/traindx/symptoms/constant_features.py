"""constant-features: input features that never change."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "constant-features"

SYMPTOM = Symptom(
    id=ID,
    title="input features that never change",
    severity="note",
    family=ID,
    background=0.02,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Columns of a table of inputs have one value in all samples seen.

## How it is measured
Inputs of a model that are rows of at most 50 numbers, over the first batches looked at (at least 64 rows).

## Healthy range
None; a few constant columns do no harm. Borders of images are constant by nature and are not counted.

## What it usually means
A column that was lost on the way: a merge that failed, a scaler fitted on nothing, a sensor that is off.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "2 of 30 input features have one value in all 512 samples seen: 4 and 17.",
        "All 30 input features change.",
    ),
)
