"""sigmoid-as-logits: sigmoid given to a loss that wants logits."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "sigmoid-as-logits"

SYMPTOM = Symptom(
    id=ID,
    title="sigmoid given to a loss that wants logits",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
    ),
    doc="""
## What is observed
The loss function wants logits, but what it is given comes out of a sigmoid.

## How it is measured
A recording reads off the autograd graph that a sigmoid made the input of `binary_cross_entropy_with_logits` (or of
`cross_entropy`). Where a compiled model hides the graph, five calls in a row with at least 500 numbers, all between 0
and 1, are taken for the same.

## Healthy range
None. Logits that happen to lie between 0 and 1 do not count as long as the graph shows that no sigmoid made them.

## What it usually means
`torch.sigmoid` in `forward` together with `BCEWithLogitsLoss`: the predicted probability never leaves 0.5 to 0.73.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "binary_cross_entropy_with_logits is given the result of a sigmoid, but it applies sigmoid itself.",
        "No sigmoid made the logits.",
    ),
)
