"""torch.compile on Python 3.12."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="dynamo-python-3-12",
    title="torch.compile does not work on Python 3.12 before torch 2.4",
    kind="clash",
    affects=("torch>=2.0,<2.4", "python>=3.12"),
    signature=Signature(text=(r"Dynamo is not supported on Python 3\.12\+",)),
    shows_if="`torch.compile` is called, by the script or by a library it imports",
    happens="Dynamo was made ready for Python 3.12 in torch 2.4.",
    do="Upgrade torch to 2.4 or later, or use Python 3.11.",
    source="https://github.com/deepspeedai/DeepSpeed/pull/7875",
    fixed="torch 2.4",
    unmistakable=True,
    example=Example(
        versions={"torch": "2.3.1", "python": "3.12.4"},
        outside={"torch": "2.4.0", "python": "3.12.4"},
        lines=("RuntimeError: Dynamo is not supported on Python 3.12+",),
    ),
)
