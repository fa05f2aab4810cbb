"""Evaluation mode where evaluation happens."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="call-model-eval",
    title="Validate in evaluation mode",
    code="""
@torch.inference_mode()
def validate(model, loader, criterion):
    was_training = model.training
    model.eval()
    total, count = 0.0, 0
    for x, y in loader:
        total += criterion(model(x), y).item() * len(y)  # weight by size: the last batch is smaller
        count += len(y)
    model.train(was_training)
    return total / count
""",
    safety="safe",
    why_safe="Training is untouched; only the measurement changes.",
    clears=("val-noisy", "val-spike"),
    doc="""\
Switches dropout off and makes BatchNorm use its running statistics while validating, and restores the mode
afterwards. `torch.inference_mode()` alone does not do that: it stops gradients, not dropout. Two evaluations of one
checkpoint must then agree exactly. If the score gets worse in evaluation mode, the running statistics are stale:
recalibrate them. Compare earlier checkpoints again, since the old curve ranked them by luck.
""",
    tries=("eval_mode",),
)
