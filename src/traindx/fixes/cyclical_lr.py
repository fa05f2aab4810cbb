"""Shake the weights out of a flat place."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="cyclical-lr",
    title="Restart or cycle the learning rate",
    code="""
scheduler = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(optimizer, T_0=max(1, {total_steps} // 7), T_mult=2)
# triangular instead: torch.optim.lr_scheduler.CyclicLR(optimizer, 1e-4, 1e-3, cycle_momentum=False)

for inputs, targets in loader:
    optimizer.zero_grad()
    loss_fn(model(inputs), targets).backward()
    optimizer.step()
    scheduler.step()  # per batch
""",
    safety="caution",
    why_safe="Every restart throws the loss up for a while: keep the checkpoints at the ends of the cycles.",
    clears=("plateau",),
    doc="""\
Raises the rate again and again so that the weights leave saddle regions and poor basins (Smith 2017; Loshchilov and
Hutter 2017). In high dimensions true local minima are rare and saddles common, but noise floors are commoner still:
try plain decay first. Judge only at the ends of cycles, where the rate is lowest. The class is called CyclicLR; with
Adam set `cycle_momentum=False`. The spikes at the restarts belong to the schedule and are no fault.
""",
    defaults={"total_steps": "10000"},
)
