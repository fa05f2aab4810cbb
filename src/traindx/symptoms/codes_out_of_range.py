"""codes-out-of-range: two classes, coded by other numbers than 0 and 1."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "codes-out-of-range"

SYMPTOM = Symptom(
    id=ID,
    title="two classes coded by other numbers than the loss takes",
    severity="problem",
    family="labels-out-of-range",
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
The targets of a binary cross-entropy have two values, and they are not 0 and 1. Or those of a margin loss (`soft_margin_loss`,
`hinge_embedding_loss`, `clamp(1 - label * score, min=0)` written out) are 0 and 1, and not -1 and 1.

## How it is measured
A recording compares the targets of each call with their smallest and their largest: where all of them are one or the other, and one
lies outside 0 to 1, they are codes of classes and not measurements.

## Healthy range
0 and 1, and -1 and 1 for a margin. Targets with many values outside that range are no codes; what is wrong there is the loss.

## What it usually means
Labels coded as -1/1 or 1/2 for a loss that wants 0/1, or as 0/1 for a margin, where those of 0 teach nothing. Map them before the training; the loss has no lower bound until then.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "All targets of binary_cross_entropy_with_logits are -1 or 1; it is defined for 0 to 1.",
        "The targets of binary_cross_entropy_with_logits have many values.",
    ),
)
