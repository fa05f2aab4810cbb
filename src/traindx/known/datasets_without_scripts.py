"""Loading scripts since datasets 4.0."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="datasets-without-scripts",
    title="datasets 4 does not run loading scripts",
    kind="changed",
    affects=("datasets>=4.0",),
    signature=Signature(text=("Dataset scripts are no longer supported, but found",)),
    shows_if="a dataset is a Python script on the Hub",
    happens="datasets 4.0.0 removed loading scripts altogether.",
    do="Install datasets==3.6.0, or use a copy of the dataset in Parquet.",
    source="https://github.com/huggingface/datasets/issues/7693",
    unmistakable=True,
    example=Example(
        versions={"datasets": "4.0.0"},
        outside={"datasets": "3.6.0"},
        lines=("RuntimeError: Dataset scripts are no longer supported, but found superb.py",),
    ),
)
