"""scaled_dot_product_attention in torch 2.1."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-sdpa-masked-rows-nan",
    title="attention gives NaN for rows that are masked completely",
    kind="fault",
    affects=("torch==2.1.*",),
    signature=Signature(
        settings={"attn_implementation|_attn_implementation|attention_implementation": "sdpa"},
        symptoms=("nonfinite-loss", "nonfinite-gradient", "nonfinite-activation"),
    ),
    shows_if="scaled dot-product attention meets a row without any place to attend to, as left padding makes",
    happens="On a GPU, torch 2.1 returns NaN where torch 2.0 returned numbers.",
    do="Use eager attention, or leave at least one place unmasked in every row.",
    source="https://github.com/pytorch/pytorch/issues/110213",
    example=Example(
        versions={"torch": "2.1.2+cu121"},
        outside={"torch": "2.0.1"},
        settings={"attn_implementation": "sdpa"},
        symptoms=("nonfinite-loss",),
    ),
)
