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
Each update is computed from one or two samples at a rate made for far larger batches, and the loss scatters by most of its own
size or does not fall at all.

## How it is measured
Rows of the batch where it meets the first layer, one backward pass for each update (accumulated batches are not small), the
rate scaled to batches of 64 (in proportion for SGD, by the root for Adam; from 2.5 and 0.03 on it is too high), and, from update
500 on, mean and standard deviation of the last 60 losses: above 90 % of the first losses, or above 20 % with a scatter of more than 80 %;
or weights that grew without bound at a rate that batches of 16 bear.
Clearer for rows of a table than for images, where memory may leave no choice.

## Healthy range
16 and more samples for each update, or a rate that is lower in proportion.

## What it usually means
A batch size of 1 left over from debugging, or a loop over samples. The noise, not the data, sets how low the loss gets at
the given learning rate.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "a loop over samples", "present",
            facts=(Fact(ID, True, "Each update sees 1 sample at a rate of 0.1; the loss of 60 updates up to 1060 scatters by 126 % of its mean."),),
        ),
        Case("ordinary batches", "absent", facts=(Fact(ID, False, "Each update sees 32 samples."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
