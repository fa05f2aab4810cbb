"""initial-weights-small: initial weights so small that signals fade."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "initial-weights-small"

SYMPTOM = Symptom(
    id=ID,
    title="initial weights are far too small",
    severity="problem",
    family="initial-size",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The weights begin so small that the signal loses more than nine tenths of its size in every layer.

## How it is measured
The standard deviation of each weight matrix before the first update, times the square root of its fan-in; the middle
of all layers counts. Present below 0.05, plain below 0.01, and less clear where norm layers restore the scale; and
below 0.1 where all layers together leave less than 1e-4 of a signal and no norm layer restores it.

## Healthy range
0.6 for torch's own start, 1 for Xavier, 1.4 for He; a fixed 0.02 gives 0.1 to 2 in usual widths.

## What it usually means
normal_(std=1e-4) or a factor applied twice.
""",
    detect=from_fact(ID),
    cases=(
        Case("std 1e-4", "present",
             facts=(Fact(ID, True, "The initial weights have a standard deviation of 0.001/√fan-in in the middle of 9 layers."),)),
        Case("Xavier", "absent",
             facts=(Fact(ID, False, "The initial weights have a standard deviation of 1/√fan-in in the middle of 9 layers."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
