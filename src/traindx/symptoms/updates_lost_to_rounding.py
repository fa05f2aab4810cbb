"""updates-lost-to-rounding: updates round to nothing in low-precision weights."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "updates-lost-to-rounding"

SYMPTOM = Symptom(
    id=ID,
    title="updates are lost to rounding",
    severity="problem",
    family="rounding",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights themselves are bf16 or fp16, and an update leaves most of their elements exactly as they were
although they have a gradient.

## How it is measured
The weights just before and just after an update on steps that are looked at closely: the share of elements with a
gradient other than zero that did not change by a single bit. Present from 60 % in the middle of those steps, plain
from 98 %.

In a checkpoint with weights and moments in bf16: the share of elements that the last update, made again, would not change.

## Healthy range
In fp32 nearly every element moves. Autocast keeps fp32 weights and is not concerned.

## What it usually means
model.to(bfloat16) or .half() with an ordinary optimiser, at a rate whose updates are smaller than half of the spacing
of the numbers.
""",
    detect=from_fact(ID),
    cases=(
        Case("bf16 weights", "present",
             facts=(Fact(ID, True, "The weights are kept in bfloat16, and an update leaves 98.1 % of the elements exactly as they were."),)),
        Case("fp32 weights", "absent", facts=(Fact(ID, False, "The weights are kept in float32."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
