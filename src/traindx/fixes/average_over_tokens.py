"""Every token counts alike."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="average-over-tokens",
    title="Average the loss over tokens, not over answers",
    code="""
loss = (per_token_loss * mask).sum() / mask.sum()        # over the batch; TRL: loss_type="dapo" or "dr_grpo"
# not: ((per_token_loss * mask).sum(1) / mask.sum(1)).mean(), which makes long wrong answers cheap
""",
    safety="caution",
    why_safe="Long answers weigh more afterwards, so the effective step changes.",
    clears=("length-drifts",),
    doc="""\
Dividing each answer by its own length gives a token of a long wrong answer a small penalty and one of a short wrong
answer a large one, so wrong answers grow (Liu et al. 2025). Average over all tokens of the batch, or divide by a
constant. In distributed runs divide by the tokens of all ranks.
""",
)
