"""samples-mixed: a sample's output depends on the other samples."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "samples-mixed"

SYMPTOM = Symptom(
    id=ID,
    title="a sample's output depends on the other samples",
    severity="problem",
    family="wiring",
    background=0.002,
    needs=("a probe of the model (traindx sanity)",),
    doc="""
## What is observed
In evaluation mode, the output for one sample changes when another sample of the same batch is exchanged.

## How it is measured
By a probe: the model is called twice in evaluation mode, the second time with one sample replaced by another one, and
the outputs of all other samples are compared. Tried only where it is certain which dimension counts the samples, and
not with batch norm that keeps no running statistics.

## Healthy range
Exactly no change: in evaluation mode samples have nothing to do with each other.

## What it usually means
A reshape or transpose that moves the batch dimension, a softmax or a norm over it, attention or recurrence over the
batch because the layer expects the sequence first.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Exchanging one sample changes the outputs of the others by 0.34 of their size.",
        "Exchanging one sample leaves the outputs of the other 63 as they were.",
    ),
)
