"""More updates."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="train-longer",
    title="Train for more steps, with the schedule stretched to match",
    code="""
{length} = 3 * {length_now}
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max={length})  # stretch it, do not append to it
""",
    safety="safe",
    why_safe="It only costs time, and the best checkpoint by validation is kept whatever happens later.",
    clears=("still-improving", "underfitting"),
    doc="""\
Right when the loss was still falling beyond its noise in the last fifth of the run. Wrong when the curve is flat:
more epochs of nothing are nothing. A run whose rate has already decayed to zero cannot be continued by adding epochs;
the schedule must be planned for the longer run, or restarted with a fresh warm-up. In double descent, where
validation gets worse near the point of zero training error and then improves again, longer training is the cure too
(Nakkiran et al. 2020). Save the best checkpoint, and stop when validation has not improved for a tenth of the run.
""",
    defaults={"length": "epochs", "length_now": "epochs", "epochs": "10"},
    writes="epochs=x3",
    tries=("epochs=x5", "epochs=x20", "epochs=x50"),
    in_trainer="""
args = TrainingArguments(..., num_train_epochs=3 * {epochs})  # or max_steps; the schedule follows it
""",
)
