"""Let targets stop where an episode ends."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="mask-terminals",
    title="Let targets stop where an episode ends",
    code="""
target = reward + gamma * (1.0 - terminated) * next_value  # terminated, not truncated
""",
    safety="safe",
    why_safe="Only targets at ends of episodes change, to what they are defined as.",
    clears=("terminals-bootstrapped", "values-beyond-returns", "value-loss-grows"),
    doc="""\
Store `terminated` of the step with its transition and use it as the mask. A time-out (`truncated`) is no end of the
task: the value of the last observation belongs into the target there. With vector environments that reset by
themselves, the last observation of an episode is in `info`, and the one that is returned belongs to the next
episode.""",
)
