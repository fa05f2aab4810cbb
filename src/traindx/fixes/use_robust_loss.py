"""Large errors pull less."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-robust-loss",
    title="Use the Huber loss",
    code="""
criterion = torch.nn.HuberLoss(delta={delta})  # quadratic below delta, linear above; targets standardised
""",
    safety="caution",
    why_safe="Extreme but correct targets get less weight: the tails are predicted less well.",
    clears=("loss-spike", "exploding-gradients"),
    doc="""\
Bounds the pull of a single sample: beyond delta the gradient no longer grows with the error. With standardised
targets 1.0 is a good start; smaller values ignore more. Right when a few extreme targets cannot be removed, wrong
when the extremes are what matters. Compare with mean absolute error or quantiles, not with the old squared error.
Classification has no Huber form: clean the labels there.
""",
    defaults={"delta": "1.0"},
    tries=("robust_loss",),
)
