"""Read what is rewarded."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="look-at-rewards",
    title="Print answers with their rewards",
    code="""
for prompt, answer, reward in list(zip(prompts, completions, rewards))[:10]:
    print(f"{reward:+.3f} | {prompt[-80:]!r} -> {answer[-200:]!r}")   # right before the advantages are computed
# what a person would reward must have the higher number, and each answer must belong to its prompt
""",
    safety="safe",
    why_safe="Only looks; the repair follows from what is seen.",
    clears=("reward-flat", "reward-falls"),
    doc="""\
Prints ten answers with their prompts and rewards at the last point before the advantages. Read them: is the better
answer the one with the higher number, does each answer belong to its prompt and reference, is the parsed answer what
the text says, is the text cut? Do it at step 0 and again once the reward moves. It costs a minute and settles more
than any curve.
""",
)
