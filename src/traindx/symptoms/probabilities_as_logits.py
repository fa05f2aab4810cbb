"""probabilities-as-logits: probabilities given to a loss that wants logits."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "probabilities-as-logits"

SYMPTOM = Symptom(
    id=ID,
    title="probabilities given to a loss that wants logits",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The loss function applies softmax (or sigmoid) itself, but what it is given already is the result of a softmax.

## How it is measured
A recording looks at the input of `cross_entropy`: no number below zero, and every row of it sums to 1 over the
classes to a thousandth. Log-probabilities do not count: a second log-softmax changes nothing.

## Healthy range
None. Logits are negative now and then and their sums are arbitrary.

## What it usually means
A softmax as last layer together with `CrossEntropyLoss`: learning is slow and the loss cannot fall below ln(e + K -
1) - 1.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "cross_entropy is given probabilities: all 64 rows sum to 1 over the 10 classes, but it applies "
        "softmax itself.",
        "The rows do not sum to 1.",
    ),
)
