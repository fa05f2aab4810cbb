"""nan-from-growth: the loss grew out of the numbers."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "nan-from-growth"

SYMPTOM = Symptom(
    id=ID,
    title="growth until overflow",
    severity="problem",
    family="nan-origin",
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Before the first loss that is not finite the losses rose by orders of magnitude: each update made the next one larger.

## How it is measured
The last 50 losses are kept. Growth means a last finite loss more than a thousand times the first ones and still rising.
Data are excluded first. Or, from finite inputs and
weights, numbers on the way to the loss pass 1e18 and others the end of their range, within one pass through the model.

## Healthy range
A loss that falls, with spikes of less than tenfold.

## What it usually means
Updates that are too large: the learning rate, above all, or gradients made huge by unscaled targets, a summed loss, recurrence
without clipping.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "SGD at 1.5", "present",
            facts=(Fact(ID, True, "The loss of update 16 is not finite: the loss had grown from 1.46 to 7.16e+34.", "train.py:30"),),
        ),
        Case("the data did it", "absent", facts=(Fact(ID, False, "The first loss that is not finite has another origin: NaN in 1 of 128 values."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
