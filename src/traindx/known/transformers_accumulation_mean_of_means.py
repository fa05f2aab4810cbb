"""Gradient accumulation of the Trainer before 4.46."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-accumulation-mean-of-means",
    title="gradient accumulation averages token losses of unequal batches",
    kind="fault",
    affects=("transformers<4.46",),
    signature=Signature(
        settings={
            "gradient_accumulation_steps": ">1",
            "per_device_train_batch_size": ">0",
            "max_seq_length|max_length|cutoff_len|sequence_len|model_max_length": ">0",
        }
    ),
    shows_if="gradients are accumulated over sequences of different length",
    happens=(
        "Each micro-batch is averaged by itself before the sum, so short sequences weigh more than in one large batch."
    ),
    do="Upgrade transformers to 4.48.3 or later.",
    source="https://github.com/huggingface/transformers/pull/34191",
    fixed="4.46.0",
    example=Example(
        versions={"transformers": "4.44.2"},
        outside={"transformers": "4.52.4"},
        settings={"gradient_accumulation_steps": 8, "per_device_train_batch_size": 1, "max_seq_length": 2048},
    ),
)
