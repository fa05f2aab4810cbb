"""Samples made while the model computes."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="add-workers",
    title="Load data in parallel workers",
    code="""
import os

cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
train_loader = torch.utils.data.DataLoader(
    train_set, batch_size={batch_size}, shuffle=True,
    num_workers=min(8, cores),                 # was {num_workers}; raise until samples per second stop rising
    persistent_workers=True, pin_memory=True, prefetch_factor=4,
)
for x, y in train_loader:
    x, y = x.to(device, non_blocking=True), y.to(device, non_blocking=True)
""",
    safety="safe",
    why_safe="The same samples in the same batches; only who makes them changes.",
    clears=("slow-input-pipeline",),
    doc="""\
Prepares batches in other processes while the device computes, and copies them asynchronously from pinned memory.
Scripts need an `if __name__ == "__main__":` guard where processes are spawned (Windows, macOS). Memory grows with the
number of workers, so stop where samples per second no longer rise. Random augmentation differs from a single-process
run even with a seed. If data time stays above a third of the step with all cores busy, make samples cheaper instead.
""",
    defaults={"batch_size": "64", "num_workers": "0"},
    tries=("workers=2", "workers=4", "workers=8"),
    judged_by="speed",
)
