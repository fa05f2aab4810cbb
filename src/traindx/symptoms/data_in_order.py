"""data-in-order: training batches come sorted by class."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "data-in-order"

SYMPTOM = Symptom(
    id=ID,
    title="training data sorted by class",
    severity="problem",
    family="order",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Most training batches hold samples of one class only, and the classes take turns.

## How it is measured
The labels of the first 40 training batches with at least 8 samples: a batch counts when at least 90 % of it are one class.
It takes three classes in turn, or two with a loader that is known not to shuffle. The same order in every epoch is no fault.

## Healthy range
In shuffled data a batch of one class hardly occurs, except for a class that makes up nearly all of the data.

## What it usually means
`shuffle=True` is missing on data stored class by class. The model learns the class of the hour and forgets it again.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "sorted files", "present",
            facts=(Fact(ID, True, "98 % of the first 40 training batches hold one class almost only, while 10 classes take turns; the loader does not shuffle."),),
        ),
        Case("shuffled", "absent", facts=(Fact(ID, False, "Of the first 40 training batches 0 % hold one class only."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
