"""Go on in the middle of an epoch."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="skip-seen-batches",
    title="Pass over the batches that were trained on",
    code="""
sampler.set_epoch(epoch)                         # the same order as before the stop
batches = accelerator.skip_first_batches(loader, step % len(loader))
# plain: batches = itertools.islice(loader, step % len(loader), None)
# Trainer: TrainingArguments(ignore_data_skip=False)
""",
    safety="safe",
    why_safe="The data goes on where it stopped; nothing else changes.",
    clears=("data-order-repeated",),
    doc="""\
The order must be the one before the stop: seed the loader's own generator by the epoch, not by the time. A
`StatefulDataLoader` (torchdata) saves and restores its place without reading what was seen. Save random states too,
where dropout and augmentation should go on as they were.
""",
)
