"""SummaryWriter of torch 1.9 and 1.10."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="tensorboard-distutils-version",
    title="torch's SummaryWriter fails with newer setuptools",
    kind="clash",
    affects=("torch>=1.9,<1.11", "setuptools>=59.6"),
    signature=Signature(text=("module 'distutils' has no attribute 'version'",)),
    shows_if="`torch.utils.tensorboard` is imported",
    happens="torch 1.9 and 1.10 reach `distutils.version` through setuptools, which no longer has it.",
    do="Install setuptools==59.5.0, or upgrade torch.",
    source="https://github.com/pytorch/pytorch/issues/69894",
    unmistakable=True,
    example=Example(
        versions={"torch": "1.10.0", "setuptools": "62.5.0"},
        outside={"torch": "1.10.0", "setuptools": "59.5.0"},
        lines=("AttributeError: module 'distutils' has no attribute 'version'",),
    ),
)
