"""A new order on every rank."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="set-sampler-epoch",
    title="Call set_epoch on the distributed sampler",
    code="""
sampler = torch.utils.data.DistributedSampler(train_set, shuffle=True, seed=0)   # same seed on all ranks
train_loader = torch.utils.data.DataLoader(train_set, batch_size={batch_size}, sampler=sampler)
for epoch in range(epochs):
    sampler.set_epoch(epoch)                   # without it every epoch replays the same order
""",
    safety="safe",
    why_safe="Only the order of the samples changes.",
    clears=("oscillation",),
    doc="""\
The sampler derives its permutation from seed plus epoch. Without the call the epoch stays 0: each rank sees the same
samples in the same order for ever. The seed must be equal on all ranks, or shards overlap and some samples are never
seen. Lightning and Hugging Face call it for you; hand-written loops do not. The repeating pattern of the loss
disappears with the next epoch.
""",
    defaults={"batch_size": "64"},
)
