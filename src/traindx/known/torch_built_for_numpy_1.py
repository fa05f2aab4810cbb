"""torch before 2.3 with NumPy 2."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-built-for-numpy-1",
    title="this torch was built for NumPy 1",
    kind="clash",
    affects=("numpy>=2", "torch<2.3"),
    signature=Signature(
        text=(r"module that was compiled using NumPy 1\.x cannot be run in|RuntimeError: Numpy is not available",)
    ),
    shows_if="tensors are made from arrays or turned into them",
    happens="torch before 2.3 cannot use NumPy 2: `.numpy()`, data loaders and collation fail.",
    do="Upgrade torch to 2.3 or later, or install numpy<2.",
    source="https://github.com/pytorch/pytorch/issues/132179",
    fixed="torch 2.3",
    unmistakable=True,
    example=Example(
        versions={"numpy": "2.0.1", "torch": "2.2.2"},
        outside={"numpy": "1.26.4", "torch": "2.2.2"},
        lines=("RuntimeError: Numpy is not available",),
    ),
)
