"""scaling-cures: scaling the data cures it."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "scaling-cures"

SYMPTOM = Symptom(
    id=ID,
    title="scaling the data cures it",
    severity="problem",
    family="data-scale",
    background=0.002,
    needs=("a probe of the model (traindx sanity)",),
    doc="""
## What is observed
On one single batch the script's own optimiser fails with the data as it is, and learns it when the inputs (or the
targets) are brought to mean 0 and spread 1.

## How it is measured
By a probe, on a copy, where features or targets have a mean or a spread beyond 10: the same training on one batch as
for batch-diverges, with every feature (or the targets) standardised. Present when the training as it stands diverges or
leaves more than half of the loss, and less than half is left with scaled data. Nothing else differs between the two
trainings, so this is an experiment and not a correlation.

## Healthy range
Nothing to cure: the optimiser learns the batch with the data as it is.

## What it usually means
The scale of the data is the cause, and not the learning rate, although a far smaller rate would also keep it from
diverging.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "Trained on one single batch, your optimiser drives the loss from 4.1e+04 to NaN or Inf; with the targets "
        "scaled to mean 0 and spread 1 it leaves 3.1% after 300 updates.",
        "Trained on one single batch, your optimiser drives the loss from 2.3 to NaN or Inf, with the inputs scaled as "
        "well.",
    ),
)
