"""bitsandbytes with triton 3.2."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="bitsandbytes-triton-ops",
    title="this bitsandbytes needs a module that triton 3.2 removed",
    kind="clash",
    affects=("bitsandbytes<0.45", "triton>=3.2"),
    signature=Signature(text=(r"No module named 'triton\.ops",)),
    shows_if="bitsandbytes is imported, which torch 2.6 and later come to through triton 3.2",
    happens="The import of bitsandbytes fails, and with it that of peft and diffusers.",
    do="Upgrade bitsandbytes to 0.45.2 or later.",
    source="https://github.com/bitsandbytes-foundation/bitsandbytes/issues/1492",
    fixed="bitsandbytes 0.45.2",
    unmistakable=True,
    example=Example(
        versions={"bitsandbytes": "0.43.3", "triton": "3.2.0"},
        outside={"bitsandbytes": "0.45.5", "triton": "3.2.0"},
        lines=("ModuleNotFoundError: No module named 'triton.ops'",),
    ),
)
