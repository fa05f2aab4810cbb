"""Accumulation means the mean."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="divide-loss-by-accumulation",
    title="Divide the loss by the number of accumulated batches",
    code="""
accumulation_steps = 8
for index, (inputs, targets) in enumerate(loader):
    loss = loss_fn(model(inputs), targets)
    (loss / accumulation_steps).backward()
    if (index + 1) % accumulation_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
    log(loss.item())  # log the undivided loss: it stays comparable with other runs
""",
    safety="safe",
    why_safe="It restores the gradient of one large batch; with plain SGD the effective rate falls by the accumulation "
    "factor.",
    clears=("exploding-gradients", "high-initial-loss", "divergence"),
    doc="""\
Makes accumulated micro-batches equal to one large batch. For sequences of unequal length the exact form sums the
token losses and divides by the token count of the whole cycle, not of each micro-batch. The last, incomplete cycle of
an epoch must be stepped with its own count or dropped, or its gradient leaks into the next epoch. Hugging Face
Trainer divides already: a custom `compute_loss` must accept and use `num_items_in_batch` instead of dividing again.
Afterwards loss and gradient norm must not depend on the accumulation factor.
""",
    tries=("accumulation",),
)
