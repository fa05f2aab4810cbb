"""Targets near zero with spread one."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="scale-targets",
    title="Standardise the targets",
    code="""
mean, std = y_train.mean(0), y_train.std(0).clamp(min=1e-8)   # from the training split only
y_train, y_val = (y_train - mean) / std, (y_val - mean) / std
prediction = model(x) * std + mean                            # back to real units for reports
""",
    safety="caution",
    why_safe="The loss changes its unit: old numbers must be divided by the variance to compare.",
    clears=("high-initial-loss", "exploding-gradients", "slow-convergence"),
    doc="""\
Brings targets to the scale at which networks start, so that the first loss is about 1 and ordinary learning rates
work. Save mean and std with the model; forgetting them at inference is the usual second bug. Skewed positive targets:
take `log1p` first. Several targets: one mean and std each, so that none drowns the others. Raise the rate back to a
normal value if it had been lowered to survive.
""",
    tries=("target_scale",),
)
