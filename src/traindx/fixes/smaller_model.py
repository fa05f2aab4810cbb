"""Less room to memorise."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="smaller-model",
    title="Reduce width first, then depth",
    code="""
model = build_model(width=width // 2, depth=depth)  # about a quarter of the parameters
print(sum(p.numel() for p in model.parameters()), "parameters for", len(train_set), "samples")
""",
    safety="disruptive",
    why_safe="The model changes and must be trained again from the start.",
    clears=("overfitting-gap",),
    doc="""\
The last resort against overfitting, after early stopping, augmentation and regularisation. Parameter counts alone do
not predict overfitting: heavily overparameterised networks often generalise better than ones that just interpolate
(Belkin et al. 2019), so making a model slightly smaller can make it worse. Try one half and one quarter of the width
and compare best validation scores, not gaps. A gap that shrinks because training got worse is no gain.
""",
)
