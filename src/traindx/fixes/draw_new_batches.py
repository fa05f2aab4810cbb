"""Every update gets another batch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="draw-new-batches",
    title="Draw a new batch for every update",
    code="""
torch.manual_seed(seed)  # once, before the loop
loader = torch.utils.data.DataLoader(train_set, batch_size={batch_size}, shuffle=True)
for epoch in range(epochs):
    for inputs, targets in loader:  # not next(iter(loader)): that begins anew and gives the first batch again
        ...
""",
    safety="safe",
    why_safe="The model, the loss and the optimizer stay as they are; only the samples change from update to update.",
    clears=("same-batch-repeated", "overfitting-gap", "val-at-chance", "val-left-behind"),
    doc="""\
Seeds belong before the loop: one that is set inside it makes every random draw after it the same. An iterator belongs
to a pass over the data: `next(iter(loader))` makes a new one, which begins at the first sample unless the loader
shuffles. With an index by hand, it must move with the step: `i = step * batch_size % len(data)`, or
`torch.randint(len(data), (batch_size,))`. For a reproducible order give the loader a generator with a seed instead of
seeding in the loop. The training loss will be higher and noisier afterwards: it is now of samples that the model has
not just seen.
""",
    defaults={"batch_size": "64"},
    tries=("fresh_batches",),
    judged_by="symptom",
)
