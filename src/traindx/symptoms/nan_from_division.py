"""nan-from-division: the loss divides by zero."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "nan-from-division"

SYMPTOM = Symptom(
    id=ID,
    title="division by zero",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite contains a division by zero, a mean over no elements, or the gradient of a square root
at zero.

## How it is measured
Read off the graph of the loss, which holds the divisors; for gradients, off the graph of the step before the weights
became NaN.

## Healthy range
Divisors with a small constant added, means over masks that are never empty.

## What it usually means
A batch without a single valid element, a norm or a variance of zero, a distance of a point to itself.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "an empty mask", "present",
            facts=(Fact(ID, True, "The loss of update 12 is not finite: division by zero (1 of 32 divisors, range 0 to 7).", "train.py:40"),),
        ),
        Case("the loss grew first", "absent", facts=(Fact(ID, False, "The first loss that is not finite has another origin: the loss had grown from 1.5 to 7e+34."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
