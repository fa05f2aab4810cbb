"""Rare classes are seen more often."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="balanced-sampling",
    title="Sample the classes more evenly",
    code="""
counts = torch.bincount(y_train).float()
sampler = torch.utils.data.WeightedRandomSampler(
    weights=(1 / counts)[y_train].sqrt(), num_samples=len(y_train), replacement=True
)
train_loader = torch.utils.data.DataLoader(train_set, batch_size={batch_size}, sampler=sampler)  # no shuffle beside it
""",
    safety="caution",
    why_safe="Rare samples repeat many times an epoch and may be memorised.",
    clears=("prediction-collapse",),
    doc="""\
Draws rare classes more often, which gives every batch some of them and steadier gradients than weights do. Combine
with augmentation, because the same few samples return again and again. Use either this or class weights at full
strength, not both. Split before sampling, and never resample validation. Predicted probabilities follow the sampled
frequencies: correct them by the ratio of priors, or choose the threshold anew.
""",
    defaults={"batch_size": "64"},
)
