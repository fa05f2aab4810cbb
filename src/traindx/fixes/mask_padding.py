"""Padding counts for nothing."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="mask-padding",
    title="Leave padding out of loss and attention",
    code="""
labels = tokens.masked_fill(attention_mask == 0, -100)   # keep the first end token as a target
logits = model(tokens, attention_mask=attention_mask)
summed = torch.nn.functional.cross_entropy(
    logits[:, :-1].reshape(-1, logits.size(-1)), labels[:, 1:].reshape(-1), ignore_index=-100, reduction="sum"
)
loss = summed / (labels[:, 1:] != -100).sum().clamp(min=1)  # per real token; 0 for a batch without any
""",
    safety="caution",
    why_safe="The loss changes its scale: old and new numbers cannot be compared, and the rate may need a new look.",
    clears=("suspiciously-good", "prediction-collapse"),
    doc="""\
Gives padding the label that the loss ignores, hides it from attention, and averages over real tokens. The loss will
look higher: it is no longer diluted. The gradient of real tokens grows by the same factor, so watch the first steps
and lower the rate if they are unstable. If pad and end token share one id, mask by the attention mask and not by the
id, or the model never learns to stop. Under data parallelism divide by the token count of all ranks.
""",
)
