"""DeepSpeed 0.14.3."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="deepspeed-zero-gradients-0-14-3",
    title="all gradients are zero in DeepSpeed 0.14.3",
    kind="fault",
    affects=("deepspeed==0.14.3",),
    signature=Signature(settings={"zero_stage|stage": r"[123](?:\.0)?"}, symptoms=("no-gradient",)),
    shows_if="the gradient norm is 0 from the first step",
    happens="Gradients and their norms are zero, so the training does not progress.",
    do="Use another release than 0.14.3.",
    source="https://github.com/deepspeedai/DeepSpeed/issues/5692",
    example=Example(
        versions={"deepspeed": "0.14.3"},
        outside={"deepspeed": "0.14.2"},
        settings={"zero_stage": 3},
        symptoms=("no-gradient",),
    ),
)
