"""Running statistics that fit the weights."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="recalibrate-batchnorm",
    title="Recompute the BatchNorm statistics",
    code="""
from torch.optim.swa_utils import update_bn

update_bn(train_loader, model, device=device)  # one pass over training data, weights untouched
""",
    safety="safe",
    why_safe="Only running means and variances are rewritten; weights and optimizer stay as they are.",
    clears=("val-noisy", "val-spike", "overfitting-gap"),
    doc="""\
Resets the running statistics and fills them again with a plain average over the training data. Right after weight
averaging, after a phase in evaluation mode, and whenever evaluation mode scores far below training mode. The loader
must apply training normalisation, preferably without strong augmentation. A hundred batches are usually enough. If
the gap comes back in the next epoch, the batches are too small for BatchNorm: use GroupNorm or SyncBatchNorm.
""",
)
