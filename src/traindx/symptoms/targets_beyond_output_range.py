"""targets-beyond-output-range: targets beyond the range of the output."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "targets-beyond-output-range"

SYMPTOM = Symptom(
    id=ID,
    title="targets beyond the range of the output",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
        "targets",
    ),
    doc="""
## What is observed
The output is bounded by its activation (sigmoid, tanh, softmax, softplus, …), and part of the targets lies outside.

## How it is measured
A recording reads the last activation off the autograd graph and counts the targets outside its range, with 2 % of
slack: at least 5 % of 16 targets or more. A tanh in front of a loss that wants logits counts as well: no prediction
can become certain. An output that is scaled after the activation does not count.

## Healthy range
All targets lie within the range, as for pixel values in 0 to 1 behind a sigmoid.

## What it usually means
An output layer for another task, or targets (images, prices) that were standardised or left unscaled while the output
stayed bounded.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "The output given to mse_loss comes out of a sigmoid and stays between 0 and 1, but 66 % of the "
        "targets lie outside (targets reach from -1.6 to 2.5).",
        "The range covers all targets.",
    ),
)
