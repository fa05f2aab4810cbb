"""rare-classes-missed: rare classes are taken for the frequent one."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "rare-classes-missed"

SYMPTOM = Symptom(
    id=ID,
    title="rare classes are taken for the frequent one",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
One class makes up most of the training labels, and in validation, where it does not, most errors are that class.

## How it is measured
Labels and predictions in the losses of training and validation. Present when one class has more than half of the
training labels, ten times the middle share of the others, and at most half its share in validation, at least 30 % of the validation answers are wrong, 60 % of
them that class, while the training labels are mostly met.

## Healthy range
Errors that spread over the classes, or a validation set with the balance of the training set and few errors.

## What it usually means
Class imbalance that validation does not share: the model has learnt how frequent the classes are.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Class 0 has 92 % of the training labels and 10 % of the validation labels; 85 % of the 230 wrong answers in validation are class 0.",
        "No class has most of the training labels.",
    ),
)
