"""loss-summed: loss summed over the batch."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "loss-summed"

SYMPTOM = Symptom(
    id=ID,
    title="loss summed over the batch",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "optimiser",
    ),
    doc="""
## What is observed
The loss is a sum over the samples of a batch and is not divided by anything before `backward`, so gradients and steps
grow with the batch.

## How it is measured
A recording follows the graph from the loss function's result (`reduction='sum'`), or from a `sum()` over the batch,
to the loss that `backward` gets. A division or a factor on the way is a scaling, and it is absent. It counts for
optimisers whose step grows with the gradient (SGD) when rate times samples reaches 0.1, plainly from 0.5 on; Adam and
its kin divide the gradient by its own size.

## Healthy range
A mean, a sum that is divided by a count, a sum with a rate that was chosen for it, or any sum with an optimiser that
does not care.

## What it usually means
`reduction='sum'` or `.sum()` with a learning rate that was meant for a mean.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "cross_entropy is called with reduction='sum' over 64 samples and never divided. With SGD this "
        "multiplies the learning rate of 0.05 by 64.",
        "The loss is a mean.",
    ),
)
