"""Use one discount that fits the length of the task."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="set-discount",
    title="Use one discount that fits the length of the task",
    code="""
gamma = 0.99  # about 1 / (1 - gamma) steps count
returns[t] = rewards[t] + gamma * (1.0 - terminated[t]) * returns[t + 1]
""",
    safety="caution",
    why_safe="It changes what is optimised: values and returns of earlier runs do not compare.",
    clears=("discount-off",),
    doc="""\
0.99 counts about a hundred steps, 0.999 a thousand. Below 0.9 only tasks that reward at once are learnt. Write the
recursion once and check it on five rewards by hand: the return of the last step is its reward.
""",
)
