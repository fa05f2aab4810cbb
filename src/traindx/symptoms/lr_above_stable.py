"""lr-above-stable: the learning rate is beyond what the loss bears."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "lr-above-stable"

SYMPTOM = Symptom(
    id=ID,
    title="the learning rate is beyond the range that works",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx lr-range or traindx curvature)",),
    doc="""
## What is observed
At the script's own learning rate the loss of the captured batches rises, breaks or hardly falls, while lower rates
bring it down.

## How it is measured
By a probe, on a copy. `lr-range` trains for some dozen updates at several constant rates from the same state: present
when the script's rate is at least twice the highest that is stable and its training ends higher than it began by as
much as the best one fell, or at NaN; or when it is at least 30 times the suggested one and makes less than a quarter of
the best descent. `curvature` multiplies the rate by the largest eigenvalue of the Hessian, rescaled
as the optimiser does: present from 20 times the optimiser's limit on, if 30 updates also raise the loss. Scripts that
warm up, and for the second those that clip gradients, are not judged.

## Healthy range
Up to the limit and a little beyond: trainings approach it by themselves and hover there.

## What it usually means
The learning rate, or the momentum, is too high; or the loss is far steeper than usual: summed instead of averaged,
unscaled inputs or targets, large initial weights.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "64 updates at 0.03 lower the loss by 1.9; at your rate of 5 they make it NaN or Inf. Rates up to 0.4 are "
        "stable.",
        "Updates at your rate of 0.1 lower the loss by 1.5.",
    ),
)
