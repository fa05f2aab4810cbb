"""Map actions to the range of the environment."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="scale-actions",
    title="Map actions to the range of the environment",
    code="""
low, high = env.action_space.low, env.action_space.high
action = low + 0.5 * (torch.tanh(raw) + 1.0) * (high - low)
# log-probability of a squashed Gaussian: minus log(1 - tanh(raw)^2), summed over the actions
""",
    safety="caution",
    why_safe="The policy means other actions by the same outputs: start again from the beginning.",
    clears=("actions-out-of-range", "squash-uncorrected"),
    doc="""\
Either squash with tanh and scale by the bounds of `action_space`, or leave the policy at -1 to 1 and wrap the
environment in `gymnasium.wrappers.RescaleAction`. Do it once. A squashed policy needs the correction in its
log-probability.""",
)
