"""SFTTrainer since trl 0.13."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="trl-sft-arguments-moved",
    title="SFTTrainer's arguments moved to SFTConfig",
    kind="changed",
    affects=("trl>=0.13",),
    signature=Signature(
        text=(r"SFTTrainer\.__init__\(\) got an unexpected keyword argument '(?:dataset_text_field|max_seq_length)'",)
    ),
    shows_if="dataset_text_field or max_seq_length is passed to SFTTrainer",
    happens="trl 0.13 takes them in `SFTConfig` only.",
    do="Pass them to `SFTConfig` and give it as `args`.",
    source="https://github.com/bitsandbytes-foundation/bitsandbytes/pull/1471",
    unmistakable=True,
    example=Example(
        versions={"trl": "0.13.0"},
        outside={"trl": "0.12.0"},
        lines=("TypeError: SFTTrainer.__init__() got an unexpected keyword argument 'dataset_text_field'",),
    ),
)
