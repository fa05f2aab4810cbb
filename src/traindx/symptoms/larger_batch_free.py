"""larger-batch-free: twice the batch takes hardly longer."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "larger-batch-free"

SYMPTOM = Symptom(
    id=ID,
    title="twice the batch takes hardly longer",
    severity="note",
    family="speed",
    background=0.05,
    needs=("a probe of the training step on an accelerator (traindx speed)",),
    doc="""
## What is observed
On an accelerator, forward and backward of twice as many samples take about the same time.

## How it is measured
By a probe: a captured batch is repeated and timed in turns with the batch as it is. Present when twice the samples take
less than 1.25 times as long, plain at 1.05. On a CPU it is not judged.

## Healthy range
Twice the samples take about twice the time. Small models on large devices never get there, and need not: it is worth
money rather than quality, so it is a note.

## What it usually means
The batch is too small to fill the device. A larger one gives more samples a second, up to the gradient's noise scale
(`traindx curvature`) without a loss in what each sample teaches.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Forward and backward of twice the samples (16) take 1.03 times as long.",
        "Forward and backward of twice the samples (512) take 1.94 times as long.",
    ),
)
