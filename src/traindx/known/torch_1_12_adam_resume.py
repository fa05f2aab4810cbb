"""Resuming Adam in torch 1.12.0."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="torch-1-12-adam-resume",
    title="Adam cannot be resumed in torch 1.12.0",
    kind="fault",
    affects=("torch==1.12.0",),
    signature=Signature(text=("If capturable=False, state_steps should not be CUDA tensors",)),
    shows_if="an Adam or AdamW state is loaded from a checkpoint on a GPU",
    happens="The step counter is moved to the GPU with the rest of the state, and the optimiser refuses it.",
    do="Upgrade torch to 1.12.1, or set capturable=True in the optimiser's groups after loading.",
    source="https://github.com/pytorch/pytorch/issues/80809",
    fixed="1.12.1",
    unmistakable=True,
    example=Example(
        versions={"torch": "1.12.0+cu113"},
        outside={"torch": "1.12.1"},
        lines=("AssertionError: If capturable=False, state_steps should not be CUDA tensors.",),
    ),
)
