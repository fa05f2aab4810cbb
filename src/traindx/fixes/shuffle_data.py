"""Every batch a sample of all data."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="shuffle-data",
    title="Shuffle the training data every epoch",
    code="""
train_loader = torch.utils.data.DataLoader(
    train_set, batch_size={batch_size}, shuffle=True, drop_last=True, generator=torch.Generator().manual_seed(seed)
)
# streaming: shuffle the shards each epoch, then keep a buffer of several thousand samples
# Keras: fit(..., shuffle=True) does not shuffle before validation_split; permute the arrays yourself
""",
    safety="safe",
    why_safe="Only the order changes; a fixed seed keeps runs reproducible.",
    clears=("oscillation", "loss-spike", "slow-convergence"),
    doc="""\
Draws a new order in each epoch, so that neighbouring batches are alike and gradients unbiased. A buffer must be
larger than the blocks in the data, or classes still come in waves. Validation needs no shuffling. Do not shuffle
within sequences that belong together or across a temporal split. The saw-tooth with the period of the epoch must be
gone in the next two epochs.
""",
    defaults={"batch_size": "64"},
    tries=("shuffle",),
)
