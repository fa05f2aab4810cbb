"""duplicate-samples: the same samples again and again."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "duplicate-samples"

SYMPTOM = Symptom(
    id=ID,
    title="the same samples again and again",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Many samples of the first training batches are equal to others in the same batch.

## How it is measured
A hash of each row of the inputs of the first training batches, as far as they are looked at. Present when more than a quarter
of the rows of most batches repeat another row of the batch. Rows with few distinct values (tokens, one-hot codes) are left
out.

## Healthy range
No equal rows in a batch of measurements or images.

## What it usually means
A loader that hands out one sample repeatedly (an index that is not used, a cache with one key), or data that was oversampled.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "In 8 of the first 8 batches 97 % of the samples repeat another one of their batch.",
        "The first 8 batches hold no sample twice.",
    ),
)
