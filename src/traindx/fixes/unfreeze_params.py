"""Let the layers learn again."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="unfreeze-params",
    title="Unfreeze the layers that should learn",
    code="""
for parameter in model.parameters():
    parameter.requires_grad_(True)
head = {id(p) for p in model.head.parameters()}  # the new layer, under whatever name it has
optimizer = torch.optim.AdamW([
    {"params": [p for p in model.parameters() if id(p) not in head], "lr": {lower_lr}},
    {"params": model.head.parameters(), "lr": {lr}},
])
""",
    safety="caution",
    why_safe="Trains more weights: needs more memory, and pretrained features can be overwritten by large early steps.",
    clears=("unchanged-weights", "flat-from-start", "loss-at-chance", "underfitting"),
    doc="""\
Turns gradients on and rebuilds the optimizer with a lower rate for the pretrained part. Training from scratch needs
one rate for all: drop the second group. Keep frozen on purpose what must be (BatchNorm with tiny batches, a base
model under adapters). Step time and memory rise, because the backward pass now reaches the first layer. Afterwards
the trainable share should be what you expect, and the loss should leave its level within a few hundred steps.
""",
    defaults={"lr": "1e-3", "lower_lr": "1e-4"},
    tries=("unfreeze",),
)
