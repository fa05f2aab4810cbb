"""accumulation-unscaled: several backward passes add up without being averaged."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "accumulation-unscaled"

SYMPTOM = Symptom(
    id=ID,
    title="accumulated gradients are not averaged",
    severity="problem",
    family="accumulation",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Several backward passes from the same line come before each update, each on the mean over its own batch, undivided:
the gradient is as many times larger.

## How it is measured
The backward calls between two updates and the line they come from, on steps that are looked at closely, and the last
operation of the loss: a loss function or a mean, with no division after it. Only with one optimiser; passes from
different lines are different losses.

## Healthy range
Each loss divided by the number of passes (libraries do it), or one pass for each update.

## What it usually means
Gradient accumulation added without dividing. With SGD the effective rate grows by the number of passes; Adam hardly
notices.
""",
    detect=from_fact(ID),
    cases=(
        Case("four passes", "present",
             facts=(Fact(ID, True, "4 backward passes add up before each update, each on a mean that is not divided by 4."),)),
        Case("one pass", "absent", facts=(Fact(ID, False, "One backward pass for each update, or each is scaled."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
