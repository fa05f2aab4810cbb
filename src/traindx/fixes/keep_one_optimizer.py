"""One optimizer for the whole run."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="keep-one-optimizer",
    title="Build the optimizer and the scheduler once, before the loop",
    code="""
optimizer = torch.optim.{optimizer}(model.parameters(), lr={lr})
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={epochs})

for epoch in range({epochs}):  # nothing below constructs an optimizer or a scheduler
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss_fn(model(inputs), targets).backward()
        optimizer.step()
    scheduler.step()
""",
    safety="safe",
    why_safe="Momentum, second moments and schedule are kept as the optimizer's authors meant them.",
    clears=("loss-spike", "slow-convergence", "lr-schedule-anomaly"),
    doc="""\
Moves the construction out of the epoch or batch loop, and out of any `train_one_epoch` function. A new Adam starts
with empty moments, and its first update has the full length lr in every coordinate. A scheduler holds the optimizer
it was built with, so a rebuilt optimizer runs at its initial rate for ever. To change the rate on the way, edit
`group["lr"]` in `optimizer.param_groups`; to add layers, use `optimizer.add_param_group`.
""",
    defaults={"optimizer": "AdamW", "lr": "1e-3", "epochs": "30"},
    tries=("one_optimizer",),
)
