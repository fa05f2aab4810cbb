"""Preference losses in transformers 4.46.0 and 4.46.1."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-accumulation-preference-loss",
    title="DPO and KTO losses are multiplied by the accumulation steps",
    kind="fault",
    affects=("transformers==4.46.0 or transformers==4.46.1",),
    signature=Signature(settings={"gradient_accumulation_steps": ">1", "stage|rl|rlhf_type": "dpo|kto"}),
    shows_if="gradients are accumulated in DPO or KTO",
    happens="Losses of trainers that do not take the number of items are not divided by the accumulation steps.",
    do="Move to another release than 4.46.0 and 4.46.1.",
    source="https://github.com/hiyouga/LlamaFactory/pull/5852",
    example=Example(
        versions={"transformers": "4.46.1"},
        outside={"transformers": "4.45.2"},
        settings={"gradient_accumulation_steps": 4, "stage": "dpo"},
    ),
)
