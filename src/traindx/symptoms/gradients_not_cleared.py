"""gradients-not-cleared: gradients of earlier updates are still there."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "gradients-not-cleared"

SYMPTOM = Symptom(
    id=ID,
    title="gradients are not cleared",
    severity="problem",
    family="clearing",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
When an optimiser updates, the gradients still hold what the update before left in them.

## How it is measured
Calls of zero_grad on optimisers and modules between two updates of one optimiser, and whether a parameter's gradient
was None or zero when backward began (cleared by hand). Present when most of the updates looked at had leftovers, two
at least. Backward passes that add up before one update are no leftovers.

## Healthy range
Cleared once for every update.

## What it usually means
zero_grad() forgotten, placed outside the loop over batches, or called on another optimiser.
""",
    detect=from_fact(ID),
    cases=(
        Case("never called", "present",
             facts=(Fact(ID, True, "At 12 of 12 updates looked at, the gradients of earlier updates had not been cleared."),)),
        Case("cleared each time", "absent", facts=(Fact(ID, False, "Gradients were cleared before each of 12 updates looked at."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
