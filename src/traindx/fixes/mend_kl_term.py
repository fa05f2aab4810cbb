"""Held to the reference."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="mend-kl-term",
    title="Give the KL term the right sign and weight",
    code="""
log_ratio = logp - ref_logp                              # policy minus reference, of the sampled tokens
kl = torch.exp(-log_ratio) - 1 + log_ratio               # never negative
loss = policy_loss + beta * kl.mean()                    # plus; as a reward it is minus: reward - beta * log_ratio
beta = 0.04                                              # 0.001 to 0.05 a token
""",
    safety="caution",
    why_safe="A stronger pull to the reference also slows what should be learnt.",
    clears=("kl-high",),
    doc="""\
The estimator is zero where policy and reference agree and positive elsewhere, so a logged KL below zero, or one that
grows from the first step while the reward falls, shows a flipped sign. Raise the weight by factors of three. Go back to
a checkpoint from before the runaway, and compute the reference in evaluation mode with the weights the policy began
from.
""",
)
