"""equal-initial-weights: all units of a layer start with the same weights."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "equal-initial-weights"

SYMPTOM = Symptom(
    id=ID,
    title="units start as copies of each other",
    severity="problem",
    family="symmetry",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
In hidden layers every unit begins with the same weights. Equal units receive equal gradients and stay equal.

## How it is measured
The weight matrices just before the first update: all rows equal. The last layer, biases, norms, embeddings and
adapters may start at zero. Present when half of the hidden matrices are so, or one that is not zero.

In a checkpoint: all rows of a hidden matrix are still the same, and not zero.

## Healthy range
Random weights in every hidden layer. Single zero matrices at the end of residual branches are good practice.

## What it usually means
zeros_, ones_ or constant_ on weights, parameters made with torch.zeros or torch.ones, or a checkpoint of zeros.
""",
    detect=from_fact(ID),
    cases=(
        Case("all zero", "present",
             facts=(Fact(ID, True, "In 12 of 12 hidden weight matrices all units start with the same weights (all zero)."),)),
        Case("random", "absent", facts=(Fact(ID, False, "The units of 12 of 12 hidden layers start from different weights."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
