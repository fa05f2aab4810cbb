"""nan-from-log: the loss takes the logarithm of zero."""

from __future__ import annotations

from functools import partial

from traindx.measurements import BadData, Operation, PathToLoss
from traindx.symptoms.base import Symptom
from traindx.symptoms.nan_origin import case, judged, other_cases
from traindx.symptoms.observed import from_measurements

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
Read off the graph of the loss before its backward pass, which still holds the operand of every logarithm. Where the
weights had been spoilt before, the operands of the step before are looked at. Where the graph shows nothing, the
model is run once more on a copy, and its first operation that leaves the finite numbers counts. Data that came so,
growth of the loss and Inf in a float16 exclude it.

## Healthy range
Logarithms of clamped or shifted values, or `log_softmax` and `logsigmoid`, which never form the zero.

## What it usually means
A probability that underflowed to zero, a count of zero, a variance that became negative by rounding.
""",
    detect=from_measurements(ID, partial(judged, ID)),
    cases=(
        case("log of a softmax", "present", operations=(Operation("log", elements=640, singular=3, high=1.0),)),
        case(
            "a root of a negative number",
            "present",
            operations=(Operation("power", elements=8, singular=1, low=-0.1, exponent=0.5, dtype="float32"),),
        ),
        case("in a compiled part", "present", rerun=Operation("log", elements=8, high=1.0, line="train.py:11")),
        case(
            "the gradient of that root at zero is a division",
            "absent",
            what="gradients",
            operations=(Operation("power", elements=8, singular=1, exponent=0.5, gradient=True),),
        ),
        case("data came so", "absent", data=BadData("inputs", "NaN", 1, 128, (13,), 1)),
        case(
            "of numbers that a float16 had made Inf",
            "absent",
            path=PathToLoss(half=True, half_infinite="Mul"),
            operations=(Operation("log", 8, 1),),
        ),
        *other_cases(ID),
    ),
)
