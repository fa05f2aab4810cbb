"""A gentle landing."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-lr-decay",
    title="Decay the learning rate over the run",
    code="""
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={total_steps}, eta_min=0.0)

for inputs, targets in loader:
    optimizer.zero_grad()
    loss_fn(model(inputs), targets).backward()
    optimizer.step()
    scheduler.step()  # T_max counts these calls
""",
    safety="safe",
    why_safe="The early part of the run hardly changes; only the last steps become smaller.",
    clears=("plateau", "oscillation", "val-noisy"),
    doc="""\
Shrinks the steps towards the end, so that the weights settle instead of circling at a distance set by step size times
gradient noise. Right when the loss hovers in a band of constant width while gradients are clearly not zero. Cosine
and linear decay to zero are the least fussy; a step drop by 10 at 50 % and 75 % shows the effect most clearly. The
drop in loss comes within a few hundred steps of the decay; if nothing moves, the floor is not noise and more decay
will not help. T_max must equal the number of `scheduler.step()` calls, or the run ends in the wrong place of the
curve.
""",
    defaults={"total_steps": "10000"},
    tries=("decay={steps}",),
    writes="decay={total_steps}",
    in_trainer="""
args = TrainingArguments(..., lr_scheduler_type="cosine")
""",
)
