"""parameters-not-optimized: parameters receive gradients that no optimiser uses."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "parameters-not-optimized"

SYMPTOM = Symptom(
    id=ID,
    title="parameters that no optimiser updates",
    severity="problem",
    family="not-optimized",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A loss reaches parameters, they receive a gradient at every step, and no optimiser holds them: they never move.

## How it is measured
On the first steps the graph of each loss is followed to its parameters, registered in a model or not, and compared
with the groups of every optimiser that exists. A parameter counts only if its numbers stand still as well, so that
updates by hand and moving averages are left alone.

## Healthy range
None. Two optimisers that share the work (generator and discriminator) hold all parameters between them. An optimiser
over the head of a model with loaded weights is often meant; that is reported with less weight.

## What it usually means
Layers in a plain list or dict, an optimiser built before the head was replaced or the model changed, a filter on
names that matches too little, or only one of two models passed.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "a list of layers",
            "present",
            facts=(Fact(ID, True, "4 of 6 parameters receive a gradient, but no optimiser holds them."),),
        ),
        Case(
            "all are held",
            "absent",
            facts=(Fact(ID, False, "All 6 parameters with a gradient belong to an optimiser."),),
        ),
        Case("a log alone", "unknown"),
    ),
)
