"""relu-cuts-output: ReLU cuts off the output."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "relu-cuts-output"

SYMPTOM = Symptom(
    id=ID,
    title="ReLU cuts off the output",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
        "targets",
    ),
    doc="""
## What is observed
The last operation before the loss is a ReLU, so the output cannot go below zero where it has to.

## How it is measured
A recording reads off the autograd graph that a ReLU made the input of the loss function. For regression losses at
least 5 % of the targets must be negative; for losses that want logits the ReLU itself is the fault, plain with one
logit, less so with several classes.

## Healthy range
A ReLU in front of a regression loss is fine where no target is negative.

## What it usually means
An activation that was meant for hidden layers was put behind the last one as well. Samples with a negative target get
no gradient, and the output unit may die.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The output given to mse_loss comes out of a ReLU, but 52 % of the targets are negative (targets "
        "reach from -1.6 to 2.5).",
        "No target is negative.",
    ),
)
