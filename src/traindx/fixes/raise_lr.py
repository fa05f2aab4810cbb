"""Larger steps."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="raise-lr",
    title="Raise the learning rate",
    code="""
lr = {higher_lr}  # was {lr}
optimizer = torch.optim.{optimizer}(model.parameters(), lr=lr)  # keep the other arguments unchanged
""",
    safety="caution",
    why_safe="Too large a step can diverge and take the weights with it: keep the last checkpoint.",
    clears=("slow-convergence", "tiny-updates", "flat-from-start"),
    doc="""\
Multiplies the step length by 3 to 10. Right when the loss falls steadily but far too slowly and the update-to-weight
ratio is below 1e-4. Wrong when the loss does not move at all and parameters receive no gradient: no rate helps there.
Go up in factors of 3 until the loss gets restless, then take a third of that value. Jumps of 100 skip the range in
between; use a range test instead. Watch the first 100 to 1000 steps: the slope must grow roughly in proportion.
""",
    defaults={"optimizer": "AdamW", "higher_lr": "1e-3", "lr": "about a tenth of that"},
    tries=("lr=x10", "lr=x100"),
    writes="lr={higher_lr}",
    in_trainer="""
args = TrainingArguments(..., learning_rate={higher_lr})  # was {lr}
""",
)
