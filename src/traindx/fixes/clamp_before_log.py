"""Away from zero, before the logarithm."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="clamp-before-log",
    title="Clamp the argument of the logarithm",
    code="""
eps = torch.finfo(p.dtype).eps                 # 1.2e-7 in fp32; in half precision compute in fp32 instead
loss = -(target * torch.log(p.float().clamp_min(eps))).sum(-1).mean()
distance = (difference.square().sum(-1) + eps).sqrt()         # the epsilon goes inside the root
""",
    safety="caution",
    why_safe="Below the clamp the gradient is zero: such samples no longer learn.",
    clears=("nonfinite-loss", "nonfinite-gradient"),
    tries=("log_floor",),
    doc="""\
Bounds the logarithm at about -16 in fp32 and its gradient at 1/eps. Use it where a log-space form is not available,
for counts, variances or given probabilities. The clamp must stand *before* the log; masking afterwards leaves a NaN
gradient. Under the limit the gradient vanishes, which is right for padding and wrong for a sample that should learn.
Large gradients remain near the limit, so keep gradient clipping on.
""",
)
