"""tiny-batches: each update sees one or two samples."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "tiny-batches"

SYMPTOM = Symptom(
    id=ID,
    title="tiny, noisy batches",
    severity="problem",
    family="batch-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Each update is computed from one or two samples, and the loss scatters by most of its own size.

## How it is measured
Rows of the batch where it meets the first layer, one backward pass for each update (accumulated batches are not small), and
mean and standard deviation of the first 60 losses. Clearer for rows of a table than for images, where memory may leave no
choice.

## Healthy range
16 and more samples for each update, or a scatter below about half the mean.

## What it usually means
A batch size of 1 left over from debugging, or a loop over samples. The noise, not the data, sets how low the loss gets at
the given learning rate.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "a loop over samples", "present",
            facts=(Fact(ID, True, "Each update sees 1 sample, and the loss of 60 updates scatters by 126 % of its mean."),),
        ),
        Case("ordinary batches", "absent", facts=(Fact(ID, False, "Each update sees 32 samples."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
