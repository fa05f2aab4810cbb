"""targets-unscaled: a regression learns targets far from the range of its outputs."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "targets-unscaled"

SYMPTOM = Symptom(
    id=ID,
    title="targets are not normalised",
    severity="problem",
    family="target-scale",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The targets of a regression have a mean or standard deviation in the tens or more, while the untrained model puts out
values around zero.

## How it is measured
In the first three calls of a regression loss (squared, absolute, Huber): mean and standard deviation of the targets against
the size of the outputs, which must be below a fifth of it. Clarity grows with the size, from 20 to 200.

## Healthy range
Targets of the order of 1, or an output layer that starts at the targets' mean and scale.

## What it usually means
The targets are in raw units. The first gradients are as large as the targets: SGD diverges, Adam spends its time walking
the output bias to the mean.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "targets in raw units", "present",
            facts=(Fact(ID, True, "The targets have mean 181.2 and standard deviation 89.66; the untrained model gives values around 0.19."),),
        ),
        Case("standardised targets", "absent", facts=(Fact(ID, False, "The targets have mean 0.148 and standard deviation 0.958."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
