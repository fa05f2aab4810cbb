"""More is better."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="flip-reward-sign",
    title="Give the reward the sign that training raises",
    code="""
reward = score                       # not -score; a distance, a loss or an error needs the minus
advantage = reward - baseline        # and not baseline - reward
loss = -(advantage * log_prob).mean()        # the optimizer minimises
""",
    safety="safe",
    why_safe="The direction was wrong; no correct behaviour is lost.",
    clears=("reward-falls",),
    doc="""\
Follow one good answer by hand: its reward is above the mean, its advantage is positive, and after one small update its
probability must be higher. Of the three signs (reward, advantage, loss) one is turned. Start again from the initial
weights, since the present ones were trained away from the task.
""",
)
