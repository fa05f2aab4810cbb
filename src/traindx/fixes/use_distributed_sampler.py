"""A share of the data for every rank."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="use-distributed-sampler",
    title="Give every rank its own share of the data",
    code="""
sampler = torch.utils.data.DistributedSampler(train_set, shuffle=True, seed=0)   # same seed on all ranks
train_loader = torch.utils.data.DataLoader(train_set, batch_size={batch_size}, sampler=sampler)   # no shuffle= here
for epoch in range(epochs):
    sampler.set_epoch(epoch)                   # another order every epoch
""",
    safety="caution",
    why_safe="The batch of one update grows with the number of ranks, so that the learning rate may need its warm-up "
    "again.",
    clears=("same-data-on-ranks",),
    doc="""\
The sampler deals the data set out: each rank sees its own part, and an epoch has as many steps less. For a streaming
data set split by rank inside it (`split_by_node` of Hugging Face datasets, `rank::world_size` by hand). One update now
averages over ranks x batch samples; keep that number in mind when the curve is compared with the old one. Lightning,
Accelerate and the Hugging Face Trainer do this for loaders they are given to prepare.
""",
    defaults={"batch_size": "64"},
)
