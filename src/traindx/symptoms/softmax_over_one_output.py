"""softmax-over-one-output: softmax over a single output."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "softmax-over-one-output"

SYMPTOM = Symptom(
    id=ID,
    title="softmax over a single output",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
A softmax is taken over a dimension that holds one number. Its result is 1 whatever the network computes, so the loss
is a constant and no gradient flows back.

## How it is measured
A recording reads the operation that made the input of the loss function off the autograd graph, seen through reshapes
and casts, and the size of the dimension it normalises. Cross-entropy with one output a sample counts as well.

## Healthy range
None: a softmax over one number never makes sense. A sigmoid is what one output needs.

## What it usually means
A binary classifier with one output unit that ends in `softmax` instead of `sigmoid`.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The output given to binary_cross_entropy is a softmax over a dimension of size 1 of (32, 1): "
        "always 1, whatever the input.",
        "No softmax over a single number.",
    ),
)
