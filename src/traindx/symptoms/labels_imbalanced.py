"""labels-imbalanced: imbalanced labels, and only the most frequent is predicted."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "labels-imbalanced"

SYMPTOM = Symptom(
    id=ID,
    title="imbalanced labels, and only the most frequent is predicted",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "predictions",
    ),
    doc="""
## What is observed
One class is more than ten times as frequent as another, the loss does not weigh them, and the model answers with the
frequent one only.

## How it is measured
A recording counts targets and predictions at the looks it takes at the loss: the last looks, five of them at batches with more than
one class, predict one class only, it is the most frequent one, and its targets outnumber the rarest class that occurs more than ten times. Masks of yes and no over a picture count by their points.

## Healthy range
Imbalance alone is normal; it counts only together with predictions that have collapsed onto the majority.

## What it usually means
Class imbalance without weights, resampling or a suitable score.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Class 0 has 97 % of 3200 targets, 32 times as many as the rarest class, and is all that is predicted.",
        "Classes are balanced.",
    ),
)
