"""no-nonlinearity: no activation function between the layers."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "no-nonlinearity"

SYMPTOM = Symptom(
    id=ID,
    title="layers follow one another without an activation",
    severity="problem",
    family="linear",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Two or more layers with weights follow one another, and nothing between any of them is non-linear: together they can
do no more than one linear layer.

## How it is measured
The graph from the loss to the parameters: every operation between two multiplications by weights is linear (sums,
views, constant factors, dropout, pooling, batch norm). Whatever comes after the last layer belongs to the loss.

## Healthy range
An activation function after every hidden layer. A single linear layer (logistic regression) has nothing between
layers. Low-rank pairs inside a network that has activations elsewhere are no finding.

## What it usually means
The activation was forgotten, defined in __init__ and never called in forward, or removed in a clean-up.
""",
    detect=from_fact(ID),
    cases=(
        Case("three linear layers", "present",
             facts=(Fact(ID, True, "3 layers with weights follow one another and there is no activation function between any two of them."),)),
        Case("an MLP", "absent", facts=(Fact(ID, False, "There are non-linear functions between the layers."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
