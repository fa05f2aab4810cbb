"""sees-the-future: outputs depend on later tokens."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "sees-the-future"

SYMPTOM = Symptom(
    id=ID,
    title="the model sees the tokens to predict",
    severity="problem",
    family="causality",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A model that is trained to predict the next token changes its outputs at earlier places when the last token is exchanged.

## How it is measured
Tried once, after the second update, when the targets are the inputs shifted by one: the model is called again without gradients
in eval mode, with and without another last token; random states, buffers and modes are put back.

## Healthy range
No output before a place depends on tokens behind it.

## What it usually means
The causal mask is missing, is applied after the softmax, or has its triangle the wrong way round; a bidirectional recurrent
layer. The loss falls far below what the text allows, and generated text is poor.
""",
    detect=from_fact(ID),
    cases=(
        Case(
            "no mask", "present",
            facts=(Fact(ID, True, "Another last token changes the outputs of GPT at earlier places by 0.013 of their size, and the targets are the next tokens.", "GPT"),),
        ),
        Case("a causal mask", "absent", facts=(Fact(ID, False, "Another last token leaves all outputs of GPT at earlier places as they were (32 places)."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
