"""frozen-weights: most weights of a model made from scratch are frozen."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "frozen-weights"

SYMPTOM = Symptom(
    id=ID,
    title="random weights are frozen",
    severity="problem",
    family="frozen",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Most of the weights of layers have requires_grad=False although no trained weights were loaded: they stay as random as
they began.

## How it is measured
The weights of linear, convolution, recurrent and attention layers that run in training, by number. Loading a state
dict or a checkpoint, adapters, and libraries that bring trained weights are taken as fine-tuning; models that are not
trained at all (teachers, copies) do not count. Present from half of the weights on, plain from 90 %.

## Healthy range
A frozen backbone with trained weights under a new head. Fixed random features are rare and made on purpose.

## What it usually means
The freezing loop of a fine-tuning recipe in a training from scratch, a name filter that is the wrong way round, or
weights that should have been loaded and were not.
""",
    detect=from_fact(ID),
    cases=(
        Case("all but one bias", "present",
             facts=(Fact(ID, True, "100 % of the weights in layers have requires_grad=False, and no weights were loaded."),)),
        Case("nothing is frozen", "absent", facts=(Fact(ID, False, "0 % of the weights in layers are frozen."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
