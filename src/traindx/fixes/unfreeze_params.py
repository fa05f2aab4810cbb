"""Let the layers learn again."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="unfreeze-params",
    title="Unfreeze the layers that should learn",
    code="""
for parameter in model.parameters():  # before the optimizer is built from them
    parameter.requires_grad_(True)
# pretrained layers: a parameter group of their own at {lower_lr}, beside the new ones at {lr}
""",
    safety="caution",
    why_safe="Trains more weights: needs more memory, and pretrained features can be overwritten by large early steps.",
    clears=("unchanged-weights", "flat-from-start", "loss-at-chance", "underfitting"),
    doc="""\
Turns gradients on; the optimizer stays the one it is, and must be built afterwards to hold what was frozen. Training
from scratch needs one rate for all, a pretrained part a lower one in a group of its own. Keep frozen on purpose what
must be (BatchNorm with tiny batches, a base model under adapters). Step time and memory rise, because the backward pass
now reaches the first layer. Afterwards the trainable share should be what you expect, and the loss should leave its
level within a few hundred steps.
""",
    defaults={"lr": "1e-3", "lower_lr": "1e-4"},
    tries=("unfreeze",),
)
