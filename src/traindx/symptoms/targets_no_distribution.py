"""targets-no-distribution: targets of cross-entropy that are no distribution."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "targets-no-distribution"

SYMPTOM = Symptom(
    id=ID,
    title="targets of cross-entropy that are no distribution",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
`cross_entropy` is given rows of targets that sum to more than 1: several labels for one sample.

## How it is measured
A recording sums the rows of targets that are given as probabilities. At least 5 % of them sum to 1.5 or more.

## Healthy range
Rows sum to 1, also with label smoothing and mixing of samples.

## What it usually means
A multi-label task with a loss for one label a sample; `BCEWithLogitsLoss` is the right one. Or counts that were not
normalised.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "64 % of the target rows of cross_entropy sum to 1.5 or more: several labels for one sample, but it"
        " expects one.",
        "Rows sum to 1.",
    ),
)
