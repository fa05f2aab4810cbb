"""Expensive work once."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="cache-data",
    title="Prepare the data once and read it back fast",
    code="""
import numpy as np

# once: decode, resize and tokenise offline, store as one array
store = np.lib.format.open_memmap("train_x.npy", mode="w+", dtype=np.uint8, shape=(len(raw_set), 3, 256, 256))
for index in range(len(raw_set)):
    store[index] = raw_set[index][0]
store.flush()

class Prepared(torch.utils.data.Dataset):
    def __init__(self, labels):
        self.x = np.load("train_x.npy", mmap_mode="r")        # shared by all workers, paged in on demand
        self.labels = labels
    def __len__(self):
        return len(self.labels)
    def __getitem__(self, index):
        return torch.from_numpy(self.x[index].copy()), self.labels[index]
""",
    safety="caution",
    why_safe="Costs memory or disk space, and a stale cache silently serves old data: name it by its settings.",
    clears=("slow-input-pipeline",),
    tries=("cache",),
    judged_by="speed",
    doc="""\
`traindx fix` tries it with samples kept in memory, which is enough for a data set that fits there. For larger ones:
move decoding and resizing out of the loop; a memory map then delivers a sample in microseconds from the page cache.
Cache what is deterministic and leave random augmentation in the loop. Small datasets fit into memory, even the
device's, and need no loader at all. Very large ones are better packed in sequential shards than in single files.
Rebuild the cache when code or data change: put a hash of the settings into its name. Samples per second from the
loader alone must exceed the model's rate.
""",
)
