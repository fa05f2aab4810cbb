"""Train and eval mode in Lightning 2.2 and later."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="lightning-keeps-eval-mode",
    title="Lightning no longer switches a model in eval mode to train mode",
    kind="changed",
    affects=("lightning>=2.2 or pytorch-lightning>=2.2",),
    signature=Signature(symptoms=("trained-in-eval-mode",)),
    shows_if="a submodule was in eval mode before `fit`, as `from_pretrained` leaves it",
    happens=(
        "Since 2.2 the Trainer keeps each submodule's mode, so a Hugging Face model is trained "
        "without dropout and with frozen batch statistics."
    ),
    do="Call `model.train()` before `trainer.fit`.",
    source="https://github.com/Lightning-AI/pytorch-lightning/issues/20105",
    example=Example(
        versions={"lightning": "2.4.0"}, outside={"lightning": "2.1.4"}, symptoms=("trained-in-eval-mode",)
    ),
)
