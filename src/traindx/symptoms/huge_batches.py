"""huge-batches: hardly any updates in many passes over the data."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "huge-batches"

SYMPTOM = Symptom(
    id=ID,
    title="hardly any updates in many passes over the data",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The training went through its data many times and still made only a handful of updates, because a batch holds all or half of
the data, and the loss had not fallen by much.

## How it is measured
Passes over the training loader, updates, and the size of a batch beside the data set; without a loader, that the first updates
all saw the same samples. Present for at least ten passes with at
most two updates each, at least 256 samples, and a last loss above 70 % of the first, or above 30 %
where it fell to the end as fast as at first.

## Healthy range
Tens of updates in each pass, or a loss that falls all the same.

## What it usually means
A batch as large as the data set with a learning rate meant for small ones.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "60 passes over 1400 samples made 60 updates, because a batch holds 1400 of them; the loss is still 97 % of its first value.",
        "A pass over the data makes 22 updates.",
    ),
)
