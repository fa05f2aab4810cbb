"""loss-maximised: loss turned upside down."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "loss-maximised"

SYMPTOM = Symptom(
    id=ID,
    title="loss turned upside down",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "loss given to backward",
    ),
    doc="""
## What is observed
`backward` gets minus the loss, or the optimiser goes along the gradient instead of against it, so that training makes the
model worse.

## How it is measured
A recording follows the graph from the loss that `backward` gets to the loss function's result: only factors lie
between, and the two have opposite signs, in every backward call so far and with one optimiser only. By hand: the mean
of picked log-probabilities without a minus sign, or squared or absolute errors that count with a minus (`1 - sse / sst` is such a loss).
Where the loss has the right sign, a few numbers of each weight are compared before and after the first updates: all of them
go along the gradient (a cosine of 0.3 and more in the mean), as `maximize=True` does, or an optimiser of your own that adds what it should subtract.

## Healthy range
None for losses that are at least zero. Adversarial trainings turn a loss around on purpose; they use several
optimisers and are left alone.

## What it usually means
A stray minus sign, in the loss or in an update that is written out, or a likelihood that was meant to be maximised handed to an optimiser that minimises.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "backward is called on minus cross_entropy (-2.31 where cross_entropy gave 2.31): training makes it worse.",
        "The sign is right.",
    ),
)
