"""evaluated-in-train-mode: the model is evaluated in train mode."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "evaluated-in-train-mode"

SYMPTOM = Symptom(
    id=ID,
    title="evaluation in train mode",
    severity="problem",
    family="mode",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Between updates the model is called with gradients off while its dropout or batch-norm layers are in train mode.

## How it is measured
Calls are watched after gradients are switched off or a loss is computed without them. The batch just trained on, sampling from
a generator and models that are not trained do not count; one evaluation in eval mode settles that there is no fault. Dropout that is called as a function
with `training=True` counts where the layer that calls it is in eval mode and a loss is computed from the answer, unless one batch is
answered several times to see how far the answers scatter.

## Healthy range
All dropout and batch-norm layers in eval mode while evaluating.

## What it usually means
`model.eval()` is missing before validation, or `F.dropout` is called without `training=self.training`. Scores are noisy and too low, and batch norm learns from validation data.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "no eval()", "present",
            facts=(Fact(ID, True, "Net was called 397 times with gradients off and in train mode: its 1 dropout and 4 batch-norm layers acted as in training.", "Net"),),
        ),
        Case("eval() is called", "absent", facts=(Fact(ID, False, "Net was in eval mode when it was evaluated."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
