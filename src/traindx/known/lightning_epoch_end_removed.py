"""Hooks at the end of an epoch since Lightning 2.0."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="lightning-epoch-end-removed",
    title="Lightning 2 has no *_epoch_end(outputs)",
    kind="changed",
    affects=("lightning>=2.0 or pytorch-lightning>=2.0",),
    signature=Signature(text=(r"Support for `\w+_epoch_end` has been removed in v2\.0\.0",)),
    shows_if="a LightningModule defines training_epoch_end or validation_epoch_end",
    happens="Lightning 2.0 removed the hooks that get all outputs.",
    do=(
        "Use on_train_epoch_end or on_validation_epoch_end and keep the outputs yourself, or install "
        "pytorch_lightning==1.9.4."
    ),
    source="https://github.com/acids-ircam/RAVE/issues/219",
    unmistakable=True,
    example=Example(
        versions={"pytorch-lightning": "2.0.0"},
        outside={"pytorch-lightning": "1.9.4"},
        lines=(
            (
                "NotImplementedError: Support for `validation_epoch_end` has been removed in v2.0.0. `Net` "
                "implements this method."
            ),
        ),
    ),
)
