"""A batch without targets counts nothing."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="guard-empty-mean",
    title="Guard means over masks that may be empty",
    code="""
valid = labels != -100
summed = torch.nn.functional.cross_entropy(
    logits.reshape(-1, logits.size(-1)), labels.reshape(-1), ignore_index=-100, reduction="sum"
)
loss = summed / valid.sum().clamp(min=1)       # 0 with a zero gradient instead of 0/0
if not valid.any():
    print("batch without a target:", step)     # frequent? truncation cut the answers off
train_loader = torch.utils.data.DataLoader(train_set, batch_size={batch_size}, shuffle=True, drop_last=True)
""",
    safety="safe",
    why_safe="Batches with targets give the same loss as before.",
    clears=("nonfinite-loss", "nonfinite-gradient"),
    doc="""\
Divides by at least one, so that an empty mask contributes nothing. The message matters: if many batches are empty,
samples are truncated before their answer, the mask is inverted, or labels were not found. `drop_last` avoids a last
batch of one, whose standard deviation is undefined. The same guard belongs into Dice, IoU and any masked mean of
yours. Under data parallelism sum numerator and denominator over the ranks before dividing.
""",
    defaults={"batch_size": "64"},
)
