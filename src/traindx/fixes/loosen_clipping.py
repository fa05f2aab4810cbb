"""A ceiling that ordinary steps do not touch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="loosen-clipping",
    title="Raise the clipping threshold to the gradient's own scale",
    code="""
# 1. measure for about 200 steps without clipping
norms.append(float(torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=float("inf"))))
# 2. then clip only what stands out; the threshold was {clip}
max_norm = sorted(norms)[int(0.9 * len(norms))]
torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
""",
    safety="caution",
    why_safe="Steps become larger; with plain SGD lower the learning rate by the same factor at first.",
    clears=("slow-convergence", "tiny-updates"),
    doc="""\
Sets the ceiling from measured norms instead of habit. Right when nearly every step is clipped: the length of the
gradient then carries no information and plain SGD moves a fixed distance per step. Adam divides a constant factor out
again, so there the gain is smaller. Afterwards 1 to 10 % of the steps should be clipped, and the loss should fall
faster within a hundred steps. If spikes come back, halve the threshold once; do not return to the old value.
""",
    defaults={"clip": "too low"},
    tries=("clip=x100",),
)
