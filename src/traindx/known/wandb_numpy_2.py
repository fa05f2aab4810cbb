"""wandb before 0.17.2 with NumPy 2."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="wandb-numpy-2",
    title="this wandb cannot be imported with NumPy 2",
    kind="clash",
    affects=("wandb<0.17.2", "numpy>=2"),
    signature=Signature(text=(r"`np\.float_` was removed in the NumPy 2\.0 release",)),
    shows_if="wandb is imported",
    happens="wandb uses `np.float_`, which NumPy 2.0 removed.",
    do="Upgrade wandb to 0.17.2 or later.",
    source="https://github.com/wandb/wandb/issues/7810",
    fixed="wandb 0.17.2",
    unmistakable=True,
    example=Example(
        versions={"wandb": "0.16.6", "numpy": "2.0.0"},
        outside={"wandb": "0.17.2", "numpy": "2.0.0"},
        lines=("AttributeError: `np.float_` was removed in the NumPy 2.0 release. Use `np.float64` instead.",),
    ),
)
