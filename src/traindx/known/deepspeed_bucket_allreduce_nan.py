"""ZeRO in DeepSpeed 0.12.4 to 0.12.6 and 0.13.5."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="deepspeed-bucket-allreduce-nan",
    title="NaN gradients from DeepSpeed's multi-rank buckets",
    kind="fault",
    affects=("deepspeed==0.12.4 or deepspeed==0.12.5 or deepspeed==0.12.6 or deepspeed==0.13.5",),
    signature=Signature(
        settings={"zero_stage|stage": r"[12](?:\.0)?"}, symptoms=("nonfinite-loss", "nonfinite-gradient")
    ),
    shows_if="ZeRO reduces gradients over several ranks",
    happens=(
        "Gradients become NaN, shown as a loss of 0 with a gradient norm of 1.0 or NaN; 0.12.3 trains "
        "the same model well."
    ),
    do="Use DeepSpeed 0.12.3, or set use_multi_rank_bucket_allreduce to false.",
    source="https://github.com/deepspeedai/DeepSpeed/issues/5242",
    example=Example(
        versions={"deepspeed": "0.12.6"},
        outside={"deepspeed": "0.12.3"},
        settings={"deepspeed.zero_optimization.stage": 2},
        symptoms=("nonfinite-gradient",),
    ),
)
