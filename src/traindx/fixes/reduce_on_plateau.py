"""Decay when progress stops."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="reduce-on-plateau",
    title="Lower the learning rate when validation stops improving",
    code="""
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.3, patience=10, min_lr=1e-6)

for epoch in range({epochs}):
    train_one_epoch()
    scheduler.step(evaluate())  # mode="max" for accuracy
""",
    safety="safe",
    why_safe="It acts only when the monitored value has not improved for the whole patience.",
    clears=("plateau", "val-noisy"),
    doc="""\
Right when the length of the run is not known beforehand. Patience counts calls of `step`: ten epochs by default, so
never call it per batch. Feed it a smoothed or validation value; on a noisy one it decays by accident and ends the
training early. Always set `min_lr`. If three reductions bring nothing, the plateau was not about the rate.
""",
    defaults={"epochs": "100"},
)
