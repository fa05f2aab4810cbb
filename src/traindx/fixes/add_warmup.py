"""A gentle start."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-warmup",
    title="Warm the learning rate up over the first steps",
    code="""
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.01, total_iters={warmup_steps})
decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={total_steps} - {warmup_steps})
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[{warmup_steps}])

for inputs, targets in loader:
    optimizer.zero_grad()
    loss_fn(model(inputs), targets).backward()
    optimizer.step()
    scheduler.step()  # once per optimizer step, not once per epoch
""",
    safety="safe",
    why_safe="A slower start costs a few per cent of the steps and leaves the peak rate and the end of training as "
    "they were.",
    clears=("loss-spike", "divergence", "lr-schedule-anomaly"),
    doc="""\
Raises the rate linearly from near zero to its peak over about 5 % of the steps. Adam's second moment is an average of
very few gradients at first, and a fresh network is at its sharpest, so the first steps are the most dangerous ones.
Right for transformers, for large batches and for any run that fails within its first few hundred steps. The loss may
look flat during the ramp: that is the schedule, not a fault. If the trouble only moves to the end of the ramp, the
peak rate itself is too high. Hugging Face: `warmup_steps=0.05` (before version 5: `warmup_ratio`). Keras:
`CosineDecay(..., warmup_steps=...)`.
""",
    defaults={"warmup_steps": "500", "total_steps": "10000"},
    tries=("warmup={warmup}",),
    writes="warmup={warmup_steps}",
    in_trainer="""
args = TrainingArguments(..., warmup_steps={warmup_steps})
""",
)
