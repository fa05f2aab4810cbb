"""An old transformers with accelerate 1.0."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="accelerate-without-dispatch-batches",
    title="this transformers passes dispatch_batches, which accelerate 1.0 removed",
    kind="clash",
    affects=("accelerate>=1.0", "transformers<4.40"),
    signature=Signature(text=(r"__init__\(\) got an unexpected keyword argument 'dispatch_batches'",)),
    shows_if="a Trainer is made",
    happens="The Trainer cannot be made: `Accelerator` takes no `dispatch_batches` since accelerate 1.0.",
    do="Upgrade transformers, or install accelerate 0.27.2.",
    source="https://github.com/huggingface/transformers/issues/34699",
    unmistakable=True,
    example=Example(
        versions={"accelerate": "1.2.1", "transformers": "4.39.3"},
        outside={"accelerate": "0.27.2", "transformers": "4.39.3"},
        lines=("TypeError: Accelerator.__init__() got an unexpected keyword argument 'dispatch_batches'",),
    ),
)
