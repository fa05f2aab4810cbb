"""adapter-at-zero: the second matrix of every LoRA pair is exactly zero."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "adapter-at-zero"

SYMPTOM = Symptom(
    id=ID,
    title="adapter is still zero",
    severity="problem",
    family="adapter",
    background=0.002,
    needs=("a checkpoint of the adapter (traindx checkpoint)",),
    doc="""
## What is observed
A LoRA adapter was saved after training, and all its second matrices (`lora_B`, `lora_up`) are exactly zero. The adapter
adds B·A to the weights, so it adds nothing: the model answers as before.

## How it is measured
`traindx checkpoint` looks at every second matrix in the file. LoRA begins with B at zero; one update with any gradient
ends that. Present when all of them are zero; a part that is zero (modules that never ran) is shown and not claimed.

## Healthy range
No second matrix at zero after the first update.

## What it usually means
No gradient reaches the adapter: re-entrant gradient checkpointing without `enable_input_require_grads()`, a forward
pass under `no_grad`, an adapter that was put on a copy of the model. Or its parameters are frozen or not in the
optimiser, or the file was written before training began.
""",
    detect=from_fact(ID),
    cases=(
        Case("nothing arrived", "present", facts=(Fact(ID, True, "All 64 second matrices of the adapter are exactly "
                                                                 "zero."),)),
        Case("trained", "absent", facts=(Fact(ID, False, "None of 64 second matrices of the adapter is zero."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
