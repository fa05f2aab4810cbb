"""classes-regressed: regression loss on class labels."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "classes-regressed"

SYMPTOM = Symptom(
    id=ID,
    title="regression loss on class labels",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
A squared or absolute error is trained on class labels: on one-hot rows, or on class numbers with a single output.

## How it is measured
A recording looks at the targets of regression losses. Plain: every row holds one 1 and zeros else. Less plain: at
least 50 targets, all of them whole numbers from 0 to K - 1 with K up to 20, each about as frequent as the others,
more than one in a call, and one output a sample.

## Healthy range
Targets of a regression are rarely all small whole numbers that start at 0. Ratings and counts are not counted unless
they look like balanced classes.

## What it usually means
A classification with `MSELoss`: gradients vanish where the model is confidently wrong, and class numbers get an order
that does not exist.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The targets of mse_loss are one-hot rows of 10 classes: a classification trained with a regression loss.",
        "Targets are real numbers.",
    ),
)
