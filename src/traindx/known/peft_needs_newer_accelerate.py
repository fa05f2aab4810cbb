"""peft 0.15 with an older accelerate."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="peft-needs-newer-accelerate",
    title="this peft needs a newer accelerate",
    kind="clash",
    affects=("peft>=0.15", "accelerate<0.32"),
    signature=Signature(text=(r"cannot import name 'clear_device_cache' from 'accelerate\.utils\.memory'",)),
    shows_if="peft is imported",
    happens="peft imports `clear_device_cache`, which accelerate up to 0.31 does not have.",
    do="Upgrade accelerate, or install peft 0.14.",
    source="https://github.com/nullquant/ComfyUI-BrushNet/issues/183",
    unmistakable=True,
    example=Example(
        versions={"peft": "0.15.1", "accelerate": "0.31.0"},
        outside={"peft": "0.14.0", "accelerate": "0.31.0"},
        lines=("ImportError: cannot import name 'clear_device_cache' from 'accelerate.utils.memory' (memory.py)",),
    ),
)
