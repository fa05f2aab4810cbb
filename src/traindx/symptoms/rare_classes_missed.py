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
training labels, ten times the middle share of the others, and more than half of the validation samples of the other classes,
ten at least, are taken for it in three evaluations in a row. The last evaluations count: every training begins so.

## Healthy range
Errors that spread over the classes, or a validation set with the balance of the training set and few errors.

## What it usually means
Class imbalance that validation does not share: the model has learnt how frequent the classes are.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Class 0 has 92% of the training labels and 90% of the validation labels, and 80% of the 30 validation samples of other classes are taken for it.",
        "No class has most of the training labels.",
    ),
)
