"""torch.compile on Python 3.13."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="dynamo-python-3-13",
    title="torch.compile does not work on Python 3.13 before torch 2.6",
    kind="clash",
    affects=("torch>=2.0,<2.6", "python>=3.13"),
    signature=Signature(text=(r"Dynamo is not supported on Python 3\.13\+",)),
    shows_if="`torch.compile` is called, by the script or by a library it imports",
    happens="Dynamo was made ready for Python 3.13 in torch 2.6.",
    do="Upgrade torch to 2.6 or later, or use Python 3.12.",
    source="https://github.com/pytorch/pytorch/issues/144048",
    fixed="torch 2.6",
    unmistakable=True,
    example=Example(
        versions={"torch": "2.5.1", "python": "3.13.1"},
        outside={"torch": "2.6.0", "python": "3.13.1"},
        lines=("RuntimeError: Dynamo is not supported on Python 3.13+",),
    ),
)
