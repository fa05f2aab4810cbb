"""AdamW since transformers 4.50."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-adamw-removed",
    title="AdamW is no longer part of transformers",
    kind="changed",
    affects=("transformers>=4.50",),
    signature=Signature(text=("cannot import name 'AdamW' from 'transformers'",)),
    shows_if="a script imports AdamW from transformers",
    happens="transformers 4.50.0 removed its own AdamW.",
    do="Import it from torch: `from torch.optim import AdamW`.",
    source="https://github.com/CogStack/MedCAT/pull/523",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.51.3"},
        outside={"transformers": "4.49.0"},
        lines=("ImportError: cannot import name 'AdamW' from 'transformers' (__init__.py)",),
    ),
)
