"""peft before 0.18 with transformers 5."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="peft-hybrid-cache",
    title="this peft does not work with transformers 5",
    kind="clash",
    affects=("peft<0.18", "transformers>=5"),
    signature=Signature(text=("cannot import name 'HybridCache' from 'transformers",)),
    shows_if="peft is imported",
    happens="peft before 0.18 imports `HybridCache`, which transformers 5 does not have.",
    do="Upgrade peft to 0.18.0 or later.",
    source="https://github.com/huggingface/trl/pull/4820",
    fixed="peft 0.18.0",
    unmistakable=True,
    example=Example(
        versions={"peft": "0.17.0", "transformers": "5.2.0"},
        outside={"peft": "0.18.0", "transformers": "5.2.0"},
        lines=("ImportError: cannot import name 'HybridCache' from 'transformers' (__init__.py)",),
    ),
)
