"""A floor under the denominator."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-epsilon",
    title="Put an epsilon into the denominator",
    code="""
scaled = (x - x.mean(0)) / (x.var(0, correction=0) + 1e-5).sqrt()   # inside the root: value and gradient stay bounded
unit = v / v.norm(dim=-1, keepdim=True).clamp_min(1e-3)             # a zero vector stays zero, gradients below 1e3
advantage = (a - a.mean()) / (a.std(correction=0) + 1e-3)           # correction=0: a batch of one gives 0, not NaN
""",
    safety="caution",
    why_safe="Changes results slightly where the denominator is small.",
    clears=("nonfinite-loss", "nonfinite-gradient"),
    tries=("divide_floor",),
    doc="""\
Keeps the quotient finite and, more important, its gradient bounded by about 1/epsilon. Scale it to the data: 1e-5 for
variances of standardised quantities, as the normalisation layers use. Tiny values are no help: 1e-12 gives gradients
of 1e12, and 1e-8 is 0 in fp16. Where zero means "no data", leaving the sample out is better than dividing by an
epsilon. Replay the batch that failed and look at its gradient norm, not only at its loss.
""",
)
