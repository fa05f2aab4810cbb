"""momentum-extreme: an update is the sum of hundreds of gradients."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "momentum-extreme"

SYMPTOM = Symptom(
    id=ID,
    title="momentum next to one",
    severity="problem",
    family="momentum",
    background=0.002,
    needs=("recording from the inside",),
    doc="""
## What is observed
The optimiser is plain SGD with a momentum so close to one that it adds up the gradients of two hundred steps and more.

## How it is measured
The momentum of the optimiser's first group, without dampening. Present from 0.995 on.

## Healthy range
0.9, or up to 0.99 with Nesterov's correction and long runs. A momentum of m makes steps 1/(1 − m) times as long as the rate says:
ten times at 0.9, a hundred times at 0.99, a thousand times at 0.999.

## What it usually means
A decay meant for an average of weights (0.999) was given as momentum, or Adam's second coefficient was. The loss swings slowly and
widely, or overshoots once and does not come back within the run.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "SGD has a momentum of 0.999: each update adds up the gradients of about 1000 steps.",
        "SGD has a momentum of 0.9.",
    ),
)
