"""Gradient accumulation in transformers 4.47."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-accumulation-doubled-4-47",
    title="loss grows with the number of accumulation steps",
    kind="fault",
    affects=("transformers==4.47.0 or transformers==4.47.1",),
    signature=Signature(
        settings={"gradient_accumulation_steps": ">1", "per_device_train_batch_size": ">0"},
        symptoms=("high-initial-loss",),
    ),
    shows_if="gradients are accumulated and the model does not take the number of items",
    happens=(
        "The loss is not divided by the items of all micro-batches: two accumulation steps double it, "
        "and the gradient with it."
    ),
    do="Upgrade transformers: the loss no longer grows with them in 4.51.3.",
    source="https://github.com/huggingface/transformers/issues/37766",
    example=Example(
        versions={"transformers": "4.47.1"},
        outside={"transformers": "4.51.3"},
        settings={"gradient_accumulation_steps": 2, "per_device_train_batch_size": 6},
        symptoms=("high-initial-loss",),
    ),
)
