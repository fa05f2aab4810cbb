"""Equal work for all."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="balance-ranks",
    title="Give every rank the same amount of work",
    code="""
lengths = torch.tensor([len(sample) for sample in train_set])
order = lengths.argsort(descending=True)                      # deal samples out like cards: equal totals per rank
mine = order[rank::world_size][: len(order) // world_size]    # the same number of samples on every rank
loader = torch.utils.data.DataLoader(
    torch.utils.data.Subset(train_set, mine.tolist()), batch_size={batch_size}, shuffle=True, drop_last=True
)
# checkpoints, uploads and plots: in a background thread, or on a rank that has less to do
""",
    safety="caution",
    why_safe="Changes which rank sees which sample, and drops a remainder of fewer than world_size samples.",
    clears=("slow-step", "throughput-drop"),
    doc="""\
Deals samples by size, so that no rank carries the long ones, and gives all ranks equally many batches, which also
prevents hangs at the end of an epoch. Batching by token budget balances even better for text. Deal again each epoch
with a new seed, so that ranks do not always see the same samples. Keep logging, evaluation and saving off the
critical path. The largest and the smallest step time over the ranks should then differ by a few percent.
""",
    defaults={"batch_size": "64"},
)
