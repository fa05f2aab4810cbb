"""shapes-broadcast: output and target broadcast against each other."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "shapes-broadcast"

SYMPTOM = Symptom(
    id=ID,
    title="output and target broadcast against each other",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "shapes of output and target",
    ),
    doc="""
## What is observed
Output and target have shapes such as (N, 1) and (N), which broadcast to (N, N): every output is compared with every
target.

## How it is measured
A recording compares the shapes given to mse, L1, smooth L1 and Huber losses: the broadcast result has more elements
than either. In a loss written by hand it looks for a subtraction in the graph whose result is (N, N) while the output
that goes in has N elements.

## Healthy range
Shapes are equal, or one of the two is a constant for all samples. Pairwise differences made on purpose by unsqueezing
do not count.

## What it usually means
A missing `squeeze(-1)` on the output or `unsqueeze(-1)` on the target. The model then learns the mean of the targets.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "mse_loss compares an output of shape (25, 1) with a target of shape (25): they broadcast to (25, "
        "25), every output against every target.",
        "Shapes are equal.",
    ),
)
