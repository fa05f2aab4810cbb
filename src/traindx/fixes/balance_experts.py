"""Every expert gets tokens."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="balance-experts",
    title="Add the router's balancing loss",
    code="""
config.output_router_logits = True     # the model adds the balancing loss to its own
config.router_aux_loss_coef = 0.01
# by hand: loss = task_loss + 0.01 * experts * (share_of_tokens * mean_probability).sum()
""",
    safety="caution",
    why_safe="Pulls the router towards equal loads; at 0.01 the task's loss hardly changes.",
    clears=("experts-idle",),
    doc="""\
Keep the router in single precision, and its rate at that of the other layers or below. Noise on the router's scores
in the first updates helps experts that start behind. Experts that were idle for long are behind for good: copy a busy
one with some noise, or start again.
""",
)
