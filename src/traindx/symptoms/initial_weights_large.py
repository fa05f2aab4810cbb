"""initial-weights-large: initial weights far larger than the width of the layers allows."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "initial-weights-large"

SYMPTOM = Symptom(
    id=ID,
    title="initial weights are far too large",
    severity="problem",
    family="initial-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights begin with a spread that multiplies the signal by several times in every layer.

## How it is measured
The standard deviation of each weight matrix before the first update, times the square root of its fan-in; the middle
of all layers counts. Present above 3.5, plain from 6, and above 2 where layers without norms multiply a signal by thirty and more on its way
through all of them.

## Healthy range
0.6 for torch's own start, 1 for Xavier, 1.4 for He; a fixed 0.02 gives 0.1 to 2 in usual widths.

## What it usually means
normal_(std=1), torch.randn parameters without a factor, or a gain that was meant for another function.
""",
    detect=from_fact(ID),
    cases=(
        Case("std 1", "present",
             facts=(Fact(ID, True, "The initial weights have a standard deviation of 6.3/√fan-in in the middle of 9 layers."),)),
        Case("He", "absent",
             facts=(Fact(ID, False, "The initial weights have a standard deviation of 1.4/√fan-in in the middle of 9 layers."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
