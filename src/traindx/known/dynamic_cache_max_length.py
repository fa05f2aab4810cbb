"""DynamicCache since transformers 4.49."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="dynamic-cache-max-length",
    title="a model's own code uses a cache method that is gone",
    kind="changed",
    affects=("transformers>=4.49",),
    signature=Signature(text=("'DynamicCache' object has no attribute 'get_max_length'",)),
    shows_if="a model is loaded with `trust_remote_code=True` whose code calls `get_max_length`",
    happens="transformers 4.49 has no `DynamicCache.get_max_length`, which older model code calls.",
    do=(
        "Update the model's code, load it without trust_remote_code where transformers has the model, "
        "or use transformers before 4.49."
    ),
    source="https://github.com/InternLM/InternLM/issues/832",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.49.0"},
        outside={"transformers": "4.48.3"},
        lines=("AttributeError: 'DynamicCache' object has no attribute 'get_max_length'",),
    ),
)
