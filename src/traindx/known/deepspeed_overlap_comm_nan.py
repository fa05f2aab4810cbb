"""overlap_comm in three releases of DeepSpeed."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="deepspeed-overlap-comm-nan",
    title="NaN gradients with overlap_comm",
    kind="fault",
    affects=("deepspeed==0.14.0 or deepspeed==0.15.0 or deepspeed==0.16.4",),
    signature=Signature(settings={"overlap_comm": "true"}, symptoms=("nonfinite-loss", "nonfinite-gradient")),
    shows_if="`overlap_comm` is on",
    happens="The gradient norm becomes NaN and the loss 0; without `overlap_comm` the same training works.",
    do="Set overlap_comm to false; a larger bucket size was reported to help too.",
    source="https://github.com/deepspeedai/DeepSpeed/issues/5347",
    example=Example(
        versions={"deepspeed": "0.16.4"},
        outside={"deepspeed": "0.12.3"},
        settings={"deepspeed.zero_optimization.overlap_comm": True},
        symptoms=("nonfinite-loss",),
    ),
)
