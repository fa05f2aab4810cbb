"""Rewards of ordinary size."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="scale-rewards",
    title="Scale rewards or returns to about one",
    code="""
env = gymnasium.wrappers.NormalizeReward(env, gamma=0.99)    # or VecNormalize(env, norm_reward=True)
reward = (reward - reward_mean) / (reward_std + 1e-8)        # running moments; clip to [-10, 10]
""",
    safety="caution",
    why_safe="The scale of a reward is arbitrary, but entropy and KL weights were tuned to the old one.",
    clears=("value-loss-grows",),
    doc="""\
Divides rewards by the running spread of the discounted return. A critic learns targets of the size of one; gradients of
a shared trunk are no longer ruled by the value loss. Do not subtract a mean per step in episodic tasks, it changes what
is optimal. Entropy and KL coefficients weigh differently afterwards: check them again.
""",
)
