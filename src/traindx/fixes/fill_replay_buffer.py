"""Keep many different transitions."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="fill-replay-buffer",
    title="Keep many different transitions",
    code="""
buffer = collections.deque(maxlen=100_000)
buffer.append((obs.copy(), action, reward, next_obs.copy(), terminated))  # copies
batch = random.sample(buffer, 64)  # after the first 1000 steps
""",
    safety="safe",
    why_safe="Model and loss stay as they are; batches become more varied.",
    clears=("replay-repeats",),
    doc="""\
Some environments write every observation into the same array: without a copy the buffer holds one of them many times.
Sample uniformly from all entries, and begin once there are many times as many as a batch takes.
""",
)
