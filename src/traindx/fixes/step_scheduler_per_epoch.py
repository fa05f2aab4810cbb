"""The scheduler counts what it was set up to count."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="step-scheduler-per-epoch",
    title="Call scheduler.step() as often as its settings assume",
    code="""
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={epochs})  # counted in epochs

for epoch in range({epochs}):
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    scheduler.step()  # here, outside the batch loop
    print(epoch, scheduler.get_last_lr())
""",
    safety="safe",
    why_safe="It restores the schedule that was intended; nothing else changes.",
    clears=("lr-schedule-anomaly", "plateau", "tiny-updates"),
    doc="""\
A schedule set in epochs and stepped per batch is over after a few hundred batches; one set in steps and stepped per
epoch never gets anywhere. Either move the call or multiply T_max, step_size and milestones by `len(loader)`.
OneCycleLR and CyclicLR are meant per batch. In Lightning set `"interval": "step"` or `"epoch"` beside the scheduler,
and do not step it by hand as well. Print `get_last_lr()` once per epoch and compare the last value with the one you
planned. Restart from a checkpoint before the rate died: what was skipped is not made up later.
""",
    defaults={"epochs": "30"},
    tries=("scheduler", "hold_lr"),
)
