"""Generated code since protobuf 4.21."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="protobuf-descriptors",
    title="protobuf 4 refuses code made for protobuf 3",
    kind="changed",
    affects=("protobuf>=4.21",),
    signature=Signature(text=("Descriptors cannot (?:not )?be created directly",)),
    shows_if="an older tensorboard or another library with generated code is imported",
    happens="protobuf 4.21 refuses descriptors of older generated code.",
    do="Upgrade the library that is named above the error, or install protobuf 3.20.",
    source="https://github.com/Lightning-AI/pytorch-lightning/issues/13159",
    unmistakable=True,
    example=Example(
        versions={"protobuf": "4.21.1"},
        outside={"protobuf": "3.20.3"},
        lines=("TypeError: Descriptors cannot not be created directly.",),
    ),
)
