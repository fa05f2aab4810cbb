"""optimizer-rebuilt: the optimiser is built anew again and again."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "optimizer-rebuilt"

SYMPTOM = Symptom(
    id=ID,
    title="optimiser is rebuilt during training",
    severity="problem",
    family="rebuilt",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A new optimiser over the same parameters, with the same settings, replaces the old one several times in the training:
momentum and moments are lost each time.

## How it is measured
Every optimiser that is constructed, its parameters and settings. Three times at least; new models, other settings
(stages of a training), other weights loaded in between and plain SGD, which has no state, do not count. Weights that are loaded as
they were left do: the training goes on, and the optimiser's state was not loaded with them.

In a checkpoint: the optimiser's own step count is less than half of the trainer's, or its state is empty.

## Healthy range
One optimiser, or one for each stage.

## What it usually means
The optimiser is constructed inside the loop over epochs or batches, or a checkpoint holds the model alone.
""",
    detect=from_fact(ID),
    cases=(
        Case("once an epoch", "present",
             facts=(Fact(ID, True, "The optimiser was built anew over the same parameters with the same settings 9 times."),)),
        Case("built once", "absent", facts=(Fact(ID, False, "No optimiser was built anew in 500 updates."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
