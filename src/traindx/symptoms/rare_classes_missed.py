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
Training shows some classes far less often than another, and in validation these are missed.

## How it is measured
Labels and predictions in the losses of training and validation. Present in either of two cases, both of them in three evaluations
in a row.

- One class has more than half of the training labels, ten times the middle share of the others, and more than half of the
  validation samples of the other classes, ten at least, are taken for it.
- Classes that the most frequent training class outnumbers ten times have at least three times that share in validation, beyond five
  standard errors and surely more than twice, validation as a whole is more even, and fewer of their samples than of the others are
  recognised, by three standard errors. Labels that come in sorted order, weighted losses, padded targets, and losses with more
  than one label for a sample, such as those of texts and maps, are left out of this.

The last evaluations count: every training begins so, and rare classes are often learnt late.

## Healthy range
Errors that spread over the classes, a validation set with the balance of the training set and few errors, training data that a
sampler has made even, or rare classes that are recognised as well as the others. A regression has no classes to miss.

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
