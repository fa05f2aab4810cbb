"""Image.ANTIALIAS since Pillow 10."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="pillow-antialias-removed",
    title="Pillow 10 has no ANTIALIAS",
    kind="changed",
    affects=("pillow>=10",),
    signature=Signature(text=(r"module 'PIL\.Image' has no attribute 'ANTIALIAS'",)),
    shows_if="an older torch or library writes images to TensorBoard or resizes them",
    happens="Pillow 10.0.0 removed `Image.ANTIALIAS`.",
    do="Install pillow<10, or replace it with Image.LANCZOS, which is the same filter.",
    source="https://github.com/tensorflow/tensorboard/issues/6853",
    unmistakable=True,
    example=Example(
        versions={"pillow": "10.0.0"},
        outside={"pillow": "9.5.0"},
        lines=("AttributeError: module 'PIL.Image' has no attribute 'ANTIALIAS'",),
    ),
)
