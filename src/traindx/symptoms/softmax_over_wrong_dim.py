"""softmax-over-wrong-dim: softmax over the wrong dimension."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "softmax-over-wrong-dim"

SYMPTOM = Symptom(
    id=ID,
    title="softmax over the wrong dimension",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The softmax (or log-softmax) in front of the loss normalises over the batch or over positions, not over the classes of
one sample.

## How it is measured
A recording finds the softmax node that made the input of the loss function, the dimension it ran over, and checks the
numbers: over the class dimension the (log-)probabilities of each sample must sum to 1. Nothing is said when part of the result was cut
out in between. A softmax inside the model counts where it runs over the samples of the batch instead of over the positions that
attention weighs.

## Healthy range
None: over the class dimension every row sums to 1.

## What it usually means
`dim=0`, `dim=-1` for outputs of shape (N, C, …), or a missing `dim` that fell back on the wrong one.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "A log-softmax over dimension 0 of (32, 10) goes into nll_loss, but the 10 classes lie in another "
        "dimension: what it normalises is not one sample's scores.",
        "The softmax runs over the classes.",
    ),
)
