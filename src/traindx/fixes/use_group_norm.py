"""Statistics that do not depend on the batch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-group-norm",
    title="Replace BatchNorm by GroupNorm for small batches",
    code="""
def to_group_norm(module):
    for name, child in module.named_children():
        if isinstance(child, torch.nn.BatchNorm2d):
            groups = next(g for g in (32, 16, 8, 4, 2, 1) if child.num_features % g == 0)
            setattr(module, name, torch.nn.GroupNorm(groups, child.num_features))
        else:
            to_group_norm(child)

to_group_norm(model)
""",
    safety="disruptive",
    why_safe="Pretrained BatchNorm statistics are lost; a model trained from scratch loses nothing.",
    clears=("val-noisy", "val-spike"),
    doc="""\
BatchNorm estimates mean and variance from the batch; with fewer than about 8 to 16 samples per device the estimates
are so noisy that validation, which uses running averages, no longer matches training. GroupNorm computes them per
sample and behaves the same in both modes (Wu and He 2018). With several GPUs `SyncBatchNorm.convert_sync_batchnorm`
is the milder step. For fine-tuning keep BatchNorm but freeze it in eval mode. Afterwards the validation loss must
stop jumping between evaluations.
""",
)
