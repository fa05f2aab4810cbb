"""nan-from-half-overflow: a float16 number passed 65504."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "nan-from-half-overflow"

SYMPTOM = Symptom(
    id=ID,
    title="float16 overflow",
    severity="problem",
    family="nan-origin",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The first loss that is not finite was computed through a float16 tensor that passed the range of that format, while data and
weights were finite and the loss had not grown.

## How it is measured
Read off the graph of the loss: float16 tensors that hold Inf, and powers of float16 values beyond 65504. With a gradient
scaler, which skips single steps by design, only after 20 such losses.

## Healthy range
Loss and reductions in float32 (autocast does so for torch's own loss functions), or bfloat16.

## What it usually means
A loss computed by hand on half-precision outputs: squares, sums or large units overflow.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "squared millivolts in float16", "present",
            facts=(Fact(ID, True, "The loss of update 1 is not finite: values up to 1.14e+03 to the power 2 in float16, which ends at 65504.", "train.py:21"),),
        ),
        Case("the data did it", "absent", facts=(Fact(ID, False, "The first loss that is not finite has another origin: NaN in 1 of 128 values."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
