"""labels-out-of-range: labels outside the range of the loss."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "labels-out-of-range"

SYMPTOM = Symptom(
    id=ID,
    title="labels outside the range of the loss",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
Labels have values that the loss function does not know: below 0 or above 1 for a binary cross-entropy.

## How it is measured
A recording takes the smallest and largest target of each call of a binary cross-entropy; torch itself does not check
them. Class indices out of range end in an error of torch.

## Healthy range
0 to 1 for binary losses, with soft labels in between.

## What it usually means
Labels coded as -1/1 or 1/2, or pixel values 0 to 255 that were not scaled. The loss has no lower bound then.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "binary_cross_entropy_with_logits is given targets from 1 to 2; it is defined for 0 to 1.",
        "Labels are 0 and 1.",
    ),
)
