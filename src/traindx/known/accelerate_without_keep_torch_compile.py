"""transformers 4.52 with an older accelerate."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="accelerate-without-keep-torch-compile",
    title="this transformers needs accelerate 1.3",
    kind="clash",
    affects=("transformers>=4.52", "accelerate<1.3"),
    signature=Signature(text=(r"unwrap_model\(\) got an unexpected keyword argument 'keep_torch_compile'",)),
    shows_if="`Trainer.train` is called",
    happens="The Trainer passes an argument to `unwrap_model` that accelerate has only since 1.3.0.",
    do="Upgrade accelerate to 1.3.0 or later.",
    source="https://github.com/huggingface/transformers/pull/38339",
    fixed="accelerate 1.3.0",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.52.4", "accelerate": "1.0.1"},
        outside={"transformers": "4.52.4", "accelerate": "1.7.0"},
        lines=("TypeError: Accelerator.unwrap_model() got an unexpected keyword argument 'keep_torch_compile'",),
    ),
)
