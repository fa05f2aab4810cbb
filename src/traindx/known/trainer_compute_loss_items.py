"""compute_loss since transformers 4.46."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="trainer-compute-loss-items",
    title="an own compute_loss lacks num_items_in_batch",
    kind="changed",
    affects=("transformers>=4.46",),
    signature=Signature(text=(r"compute_loss\(\) got an unexpected keyword argument 'num_items_in_batch'",)),
    shows_if="a Trainer subclass has its own `compute_loss` without that argument",
    happens="Since 4.46 the Trainer passes the number of items in the batch to `compute_loss`.",
    do="Add `num_items_in_batch=None` to the method's arguments, or upgrade the library that defines it.",
    source="https://github.com/huggingface/transformers/issues/36331",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.49.0"},
        outside={"transformers": "4.45.2"},
        lines=("TypeError: CustomTrainer.compute_loss() got an unexpected keyword argument 'num_items_in_batch'",),
    ),
)
