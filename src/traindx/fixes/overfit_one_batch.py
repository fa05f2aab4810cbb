"""The two-minute test that tells broken from weak."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="overfit-one-batch",
    title="Check first that the model can memorise one batch",
    code="""
inputs, targets = next(iter(loader))
model.train()
for step in range(300):
    optimizer.zero_grad()
    loss = loss_fn(model(inputs), targets)
    loss.backward()
    optimizer.step()
    if step % 50 == 0:
        print(step, loss.item())  # must end near zero: dropout, decay and augmentation off
""",
    safety="safe",
    why_safe="A test on a throw-away copy; the run is not touched.",
    clears=(),
    doc="""\
Any sound network drives the loss on 16 to 64 fixed samples close to zero within a few hundred steps. If it does not,
the fault is in the code, the loss or the gradients, and neither size, epochs nor regularisation matter yet. If it
does, the wiring is proven and the question is capacity, data or rate. A floor above zero that depends on the labels
points to contradictory labels or a loss with a floor (label smoothing, mixup, softmax before cross-entropy). Reload
the model afterwards: it has just memorised one batch.
""",
)
