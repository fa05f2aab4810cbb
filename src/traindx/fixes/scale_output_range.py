"""The right range instead of none."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="scale-output-range",
    title="Scale the output to the range of the targets",
    code="""
low, high = {low}, {high}                      # of the training targets, with a margin of a few percent
prediction = low + (high - low) * torch.sigmoid(output)
""",
    safety="caution",
    why_safe="Values close to the limits are learned slowly, since the sigmoid saturates there.",
    clears=("plateau", "underfitting"),
    doc="""\
Keeps the output bounded, but by the bounds of the task. Right for ratings, angles, pixel values or actions with hard
limits; wrong for open-ended quantities. Leave a margin: a target at the limit itself needs an infinite logit. Watch
the share of predictions within one percent of the limits. If it grows, widen the range or make the output linear.
""",
    defaults={"low": "y_train.min().item()", "high": "y_train.max().item()"},
)
