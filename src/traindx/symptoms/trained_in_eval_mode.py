"""trained-in-eval-mode: weights are updated while the model is in eval mode."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "trained-in-eval-mode"

SYMPTOM = Symptom(
    id=ID,
    title="training in eval mode",
    severity="problem",
    family="mode",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Updates of a model with dropout or batch norm while the whole model is in eval mode.

## How it is measured
The mode of every model whose weights the optimiser holds, at every update; five updates in eval mode are enough. Batch norm
alone in eval mode is a deliberate freeze and does not count, nor does a frozen backbone under a new head.

In a checkpoint: the gains of BatchNorm layers were trained, and all running statistics are those they were made with.

## Healthy range
Train mode at every update.

## What it usually means
`model.eval()` for validation without `model.train()` after it: from the first validation on, dropout is off and batch norm
normalises with stale statistics.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "never switched back", "present",
            facts=(Fact(ID, True, "Net was in eval mode in 5 of 40 updates (first in update 36): its 1 dropout layer did not act as in training.", "Net"),),
        ),
        Case("switched back", "absent", facts=(Fact(ID, False, "Net was in train mode in its first 30 updates."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
