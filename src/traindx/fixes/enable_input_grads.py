"""Checkpointing and adapters."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="enable-input-grads",
    title="Let gradients pass through checkpointed blocks",
    code="""
# Hugging Face: before training, with a frozen base model and adapters
model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
model.enable_input_require_grads()  # needed wherever the reentrant form remains in use
# plain torch: torch.utils.checkpoint.checkpoint(block, hidden, use_reentrant=False)
""",
    safety="safe",
    why_safe="Numbers in the forward pass do not change; frozen weights stay frozen.",
    clears=("no-gradient", "unchanged-weights"),
    doc="""\
Reentrant checkpointing runs the backward of a block only if one of its inputs requires a gradient. Frozen embeddings
produce inputs that do not, so adapters inside the block learn nothing. The non-reentrant form has no such condition;
requiring gradients on the embedding output satisfies it as well. After the change the norm of every `lora_B` must
leave zero within the first steps. Memory rises slightly.
""",
)
