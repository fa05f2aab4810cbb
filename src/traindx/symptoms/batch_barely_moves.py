"""batch-barely-moves: training on one batch goes nowhere."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "batch-barely-moves"

SYMPTOM = Symptom(
    id=ID,
    title="training on one batch goes nowhere",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx sanity)",),
    doc="""
## What is observed
Trained on one single batch again and again, the script's own optimiser hardly changes the loss, and Adam does.

## How it is measured
By a probe, on a copy: at least 100 updates on one captured batch with an optimiser like the script's at the rate its
schedule is heading for. Present when more than 95 % of the loss is left while Adam leaves less than half; plain from 99
%.

## Healthy range
A hundred updates on one batch take away most of its loss.

## What it usually means
Steps that are too small: a learning rate far too low, gradients clipped to nothing, updates lost to rounding. The model
and the loss are fine, or Adam could not do it.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "Trained on one single batch, your optimiser (learning rate 1e-06) leaves 99.8% of the loss after 300 updates; "
        "Adam at 0.001 leaves 0.4%.",
        "Your optimiser brings one batch down to 0.4% in 120 updates.",
    ),
)
