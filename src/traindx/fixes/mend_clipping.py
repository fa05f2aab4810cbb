"""A step that is bounded."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="mend-clipping",
    title="Clip the ratio that is used",
    code="""
ratio = torch.exp(logp - old_logp)
loss = -torch.min(ratio * advantage, ratio.clamp(1 - 0.2, 1 + 0.2) * advantage).mean()   # min, and the minus outside
""",
    safety="safe",
    why_safe="Small updates are not touched; only large ones are bounded.",
    clears=("clip-fraction-extreme", "kl-high"),
    doc="""\
The minimum of both terms is taken before the minus: `max` with the sign inside is the same, a `min` there is not. The
range is 0.1 to 0.3. If the fraction stays 0 while the policy moves far, print the ratio of one token in the second pass
and compare it with the range.
""",
)
