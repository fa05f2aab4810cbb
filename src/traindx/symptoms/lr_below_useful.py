"""lr-below-useful: the learning rate is far below where learning begins."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "lr-below-useful"

SYMPTOM = Symptom(
    id=ID,
    title="the learning rate is far below the useful range",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx lr-range)",),
    doc="""
## What is observed
At the script's own learning rate some dozen updates leave the loss where it was; at a rate far above they bring it
down.

## How it is measured
By a probe, on a copy: short trainings at several constant rates from the same state, on the captured batches. Present
when the suggested rate is at least 100 times the one the script's schedule is heading for, when that one makes less
than 2 % of the best descent, and when the best takes away a fifth of the loss. Plain from 1000 times on.

## Healthy range
Within a factor of ten of the best of a short training; fine-tuning of a trained model somewhat below.

## What it usually means
A learning rate that is too low, gradients clipped to nothing, or updates that are lost to rounding.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "64 updates at 0.8 lower the loss by 2.1, at your rate of 1e-05 by 0.0002.",
        "64 updates at 0.8 lower the loss by 2.1, at your rate of 0.3 by 1.8.",
    ),
)
