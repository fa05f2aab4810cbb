"""nan-from-log: the loss takes the logarithm of zero."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "nan-from-log"

SYMPTOM = Symptom(
    id=ID,
    title="logarithm of zero or less",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite contains a logarithm of zero or of a negative number, or a square root of a negative
number, while data and weights were finite.

## How it is measured
Read off the graph of the loss before its backward pass, which still holds the operand of every logarithm. Where the weights
had been spoilt before, the operands of the step before are looked at.

## Healthy range
Logarithms of clamped or shifted values, or `log_softmax` and `logsigmoid`, which never form the zero.

## What it usually means
A probability that underflowed to zero, a count of zero, a variance that became negative by rounding.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "log of a softmax", "present",
            facts=(Fact(ID, True, "The loss of update 31 is not finite: log of 3 of 640 values that are zero or less (range 0 to 1).", "train.py:40"),),
        ),
        Case("the data did it", "absent", facts=(Fact(ID, False, "The first loss that is not finite has another origin: NaN in 1 of 128 values."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
