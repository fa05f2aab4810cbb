"""flash-attn 2.5.7 with torch 2.3."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="flash-attn-2-5-7-torch-2-3",
    title="flash-attn 2.5.7 was not built for torch 2.3",
    kind="clash",
    affects=("flash-attn==2.5.7", "torch==2.3.*"),
    signature=Signature(text=(r"flash_attn_2_cuda\S*: undefined symbol",)),
    shows_if="flash_attn is imported",
    happens="The compiled part asks for a symbol that torch 2.3 does not have.",
    do="Install flash-attn 2.5.8, which was built for torch 2.3.",
    source="https://github.com/Dao-AILab/flash-attention/issues/931",
    fixed="flash-attn 2.5.8",
    example=Example(
        versions={"flash-attn": "2.5.7", "torch": "2.3.0"},
        outside={"flash-attn": "2.5.8", "torch": "2.3.0"},
        lines=(
            (
                "ImportError: flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so: undefined symbol: "
                "_ZN3c104cuda9SetDeviceEi"
            ),
        ),
    ),
)
