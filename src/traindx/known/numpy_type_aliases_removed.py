"""Aliases of types since NumPy 1.24."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="numpy-type-aliases-removed",
    title="NumPy has no np.float, np.int or np.bool",
    kind="changed",
    affects=("numpy>=1.24",),
    signature=Signature(text=("module 'numpy' has no attribute '(?:float|int|bool|object|str)'",)),
    shows_if="a script or an older library uses them",
    happens="NumPy 1.24 removed the aliases of Python's own types.",
    do="Write float, int or bool; or install numpy<1.24.",
    source="https://github.com/huggingface/pytorch-image-models/pull/1866",
    unmistakable=True,
    example=Example(
        versions={"numpy": "1.24.3"},
        outside={"numpy": "1.23.5"},
        lines=("AttributeError: module 'numpy' has no attribute 'bool'.",),
    ),
)
