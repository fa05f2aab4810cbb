"""gradients-wiped: gradients are gone when the optimiser wants to use them."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "gradients-wiped"

SYMPTOM = Symptom(
    id=ID,
    title="gradients are cleared before the update uses them",
    severity="problem",
    family="clearing",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
`backward()` fills the gradients, `zero_grad()` clears them, and only then the optimiser updates.

## How it is measured
Calls of zero_grad on optimisers and modules after the last backward pass and before an update of one optimiser, and
whether its parameters had no gradient, or zeros, at that update. Present when most of the updates looked at were such,
two at least. Clearing another model's gradients in between is none.

## Healthy range
Never.

## What it usually means
zero_grad() stands between backward() and step().
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "At 9 of 9 updates looked at, zero_grad() had cleared the gradients after backward(): the update had nothing to use.",
        "The gradients of the last backward pass were there at each of 9 updates looked at.",
    ),
)
