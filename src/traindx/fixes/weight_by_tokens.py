"""One token, one vote."""

from __future__ import annotations

from traindx.fixes.base import Fix

FIX = Fix(
    id="weight-by-tokens",
    title="Divide the summed loss by the tokens of the whole update",
    code="""
counted = sum((batch["labels"][:, 1:] != -100).sum() for batch in micro_batches)
for batch in micro_batches:
    logits = model(batch["input_ids"]).logits[:, :-1]
    loss = F.cross_entropy(logits.flatten(0, 1), batch["labels"][:, 1:].flatten(), reduction="sum") / counted
    loss.backward()
""",
    safety="safe",
    why_safe="Every counted token weighs the same; with equal lengths nothing changes.",
    clears=("token-weights-unequal",),
    doc="""\
On several ranks, add the counts over all of them and multiply by their number, because gradients are averaged. The
Hugging Face Trainer does it by itself from version 4.46 on (`num_items_in_batch`), if the model's forward takes it.
Packing or sorting into buckets of one length makes the difference small without any change of the loss.
""",
)
