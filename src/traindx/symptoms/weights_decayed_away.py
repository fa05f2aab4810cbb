"""weights-decayed-away: weight decay has shrunk the weights to a small part of their start."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "weights-decayed-away"

SYMPTOM = Symptom(
    id=ID,
    title="weight decay shrinks the weights away",
    severity="problem",
    family="decay",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weight matrices have shrunk to a small part of their initial size under weight decay: the pull to zero is stronger
than what the loss asks for.

## How it is measured
The norms of the matrices in groups with weight decay, before the first update and on later steps that are looked at
closely: present when the middle one is below 30 % of its start in a model without norm layers, below 3 % in one with
them, where the size of weights has no effect on the output.

## Healthy range
Weights that grow or keep their size. Scale-free layers in front of a norm may shrink to a third.

## What it usually means
A weight decay hundreds of times too large for this rate, often a value meant for another optimiser.
""",
    detect=from_fact(ID),
    cases=(
        Case("decay of 5", "present",
             facts=(Fact(ID, True, "Under a weight decay of 5 the middle of 3 weight matrices has shrunk to 4 % of its initial norm."),)),
        Case("decay of 1e-4", "absent",
             facts=(Fact(ID, False, "Under a weight decay of 0.0001 the middle of 3 weight matrices is at 110 % of its initial norm."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
