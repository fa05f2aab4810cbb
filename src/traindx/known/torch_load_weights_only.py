"""torch.load since torch 2.6."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-load-weights-only",
    title="torch.load reads only weights by default",
    kind="changed",
    affects=("torch>=2.6",),
    signature=Signature(text=("UnpicklingError: Weights only load failed",)),
    shows_if="a checkpoint holds more than tensors, such as random states or settings",
    happens="torch 2.6 changed the default of `weights_only` to True, so older checkpoints do not load.",
    do=(
        "Where you trust the file, pass weights_only=False, or allow the class with "
        "torch.serialization.add_safe_globals."
    ),
    source="https://github.com/huggingface/transformers/issues/34631",
    unmistakable=True,
    example=Example(
        versions={"torch": "2.6.0"},
        outside={"torch": "2.5.1"},
        lines=(
            (
                "_pickle.UnpicklingError: Weights only load failed. This file can still be loaded, to do so "
                "you have two options"
            ),
        ),
    ),
)
