"""Training mode where training happens."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="call-model-train",
    title="Switch back to training mode",
    code="""
for epoch in range(epochs):
    model.train()                      # inside the loop: validation switches it off
    for x, y in train_loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.inference_mode():
        val_loss = sum(criterion(model(x), y).item() for x, y in val_loader) / len(val_loader)
""",
    safety="safe",
    why_safe="Restores dropout and BatchNorm updates as they were designed; nothing else changes.",
    clears=("overfitting-gap", "loss-spike"),
    doc="""\
Sets the mode at the top of each epoch, so that no evaluation can leave it wrong. An evaluation in the middle of an
epoch needs its own `model.train()` afterwards. If some BatchNorm layers are frozen on purpose, put those back into
evaluation mode after the call. The train loss becomes noisier and a little higher, because dropout is active: that is
right. Watch that `num_batches_tracked` grows and that validation improves.
""",
    tries=("train_mode",),
)
