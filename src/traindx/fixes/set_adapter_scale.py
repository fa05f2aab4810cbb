"""Scale and rate that adapters need."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="set-adapter-scale",
    title="Set alpha to once or twice the rank and the rate to about 2e-4",
    code="""
config = LoraConfig(r=16, lora_alpha=32, target_modules="all-linear")  # alpha / r = 2
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=2e-4)
""",
    safety="caution",
    why_safe="Changes how fast the adapter learns; the base is not touched.",
    clears=("adapter-scale-extreme",),
    doc="""\
The product of a pair is multiplied by alpha / r, so that scale and rate do much the same: change one at a time. With
alpha fixed, doubling the rank halves the scale; `use_rslora=True` divides by the square root instead. LoRA wants
about ten times the rate of a full fine-tuning; full fine-tuning at the rate of LoRA forgets.
""",
)
