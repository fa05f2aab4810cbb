"""val-inputs-differ: evaluation inputs have another scale than training inputs."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "val-inputs-differ"

SYMPTOM = Symptom(
    id=ID,
    title="validation inputs of another scale",
    severity="problem",
    family="val-inputs",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Mean or standard deviation of the inputs in evaluation differ at least threefold (in training deviations) from training.

## How it is measured
Mean and standard deviation of whole input batches in training and between updates with gradients off, up to 12 of each; at
least two batches and half of those seen must differ.

## Healthy range
The same mean and deviation within sampling noise; augmentation changes them by a few percent.

## What it usually means
One of the two goes through another transform: a missing normalisation, 0 to 255 against 0 to 1, other constants.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "divided by 255 only in validation", "present",
            facts=(Fact(ID, True, "Inputs in evaluation have mean 0.0194 and standard deviation 0.0239, in training 0.00412 and 1 (2 of 2 batches)."),),
        ),
        Case("the same transform", "absent", facts=(Fact(ID, False, "Inputs have one scale in training and evaluation (standard deviation 1)."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
