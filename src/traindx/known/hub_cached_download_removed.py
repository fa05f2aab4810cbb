"""cached_download since huggingface_hub 0.26."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="hub-cached-download-removed",
    title="huggingface_hub no longer has cached_download",
    kind="changed",
    affects=("huggingface-hub>=0.26",),
    signature=Signature(text=("cannot import name 'cached_download' from 'huggingface_hub'",)),
    shows_if="an older diffusers or sentence-transformers is imported",
    happens="huggingface_hub 0.26 removed `cached_download`.",
    do="Upgrade the library that imports it, or install huggingface_hub==0.25.2.",
    source="https://github.com/huggingface/huggingface_hub/issues/2617",
    unmistakable=True,
    example=Example(
        versions={"huggingface-hub": "0.26.1"},
        outside={"huggingface-hub": "0.25.2"},
        lines=("ImportError: cannot import name 'cached_download' from 'huggingface_hub' (__init__.py)",),
    ),
)
