"""The rate follows the batch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="scale-lr-with-batch",
    title="Scale the learning rate with the effective batch",
    code="""
effective_batch = {batch_size} * accumulation_steps * world_size
reference_batch, reference_lr = 256, 0.1  # a pair known to work for this model
ratio = effective_batch / reference_batch
lr = reference_lr * ratio  # SGD: linear; Adam and AdamW: reference_lr * ratio ** 0.5
""",
    safety="caution",
    why_safe="The scaled rate is larger and needs warm-up; the rule breaks down for very large batches.",
    clears=("slow-convergence", "oscillation"),
    doc="""\
When the batch grows by k, so may the step: by k for SGD (Goyal et al. 2017), by the square root of k for Adam
(Malladi et al. 2022). The effective batch counts accumulation and every GPU: moving a script from one to eight cards
multiplies it by eight without a visible change in the code. Shrinking the batch demands the opposite correction.
Combine with warm-up over the first epochs. Past a few thousand samples the linear rule overshoots: check with a range
test.
""",
    defaults={"batch_size": "256"},
)
