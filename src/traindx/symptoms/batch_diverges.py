"""batch-diverges: training on one batch diverges."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "batch-diverges"

SYMPTOM = Symptom(
    id=ID,
    title="training on one batch diverges",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx sanity)",),
    doc="""
## What is observed
Trained on one single batch again and again, the script's own optimiser makes the loss larger, or NaN.

## How it is measured
By a probe, on a copy: up to 300 updates on one captured batch with an optimiser like the script's (its kind, settings,
gradient clipping, and a warm-up where it has one) and with Adam. Present when the first ends above three times its
start or at NaN while Adam brings the loss down by half.

## Healthy range
The loss of a fixed batch falls.

## What it usually means
Steps that are too large for the loss: the learning rate, the momentum, or gradients that are far larger than usual
(summed losses, unscaled inputs or targets, large initial weights). Noise is ruled out, since the batch is always the
same.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "Trained on one single batch, your optimiser (learning rate 1) drives the loss from 2.3 to NaN or Inf; Adam at "
        "0.001 brings it down to 0.02.",
        "Your optimiser brings one batch down to 0.4% in 120 updates.",
    ),
)
