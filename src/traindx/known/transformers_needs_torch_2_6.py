"""torch.load in transformers 4.52 with an older torch."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="transformers-needs-torch-2-6",
    title="this transformers loads .bin files only with torch 2.6",
    kind="clash",
    affects=("transformers>=4.52", "torch<2.6"),
    signature=Signature(text=(r"serious vulnerability issue in `torch\.load`",)),
    shows_if="weights or optimiser states that are not safetensors are loaded, as a resumed training does",
    happens="Because of CVE-2025-32434 transformers refuses `torch.load` on torch before 2.6.",
    do="Upgrade torch to 2.6 or later, or keep the weights as safetensors.",
    source="https://github.com/huggingface/transformers/pull/37785",
    fixed="torch 2.6",
    unmistakable=True,
    example=Example(
        versions={"transformers": "4.52.3", "torch": "2.5.1+cu124"},
        outside={"transformers": "4.52.3", "torch": "2.6.0"},
        lines=(
            (
                "ValueError: Due to a serious vulnerability issue in `torch.load`, even with "
                "`weights_only=True`, we now require users to"
            ),
        ),
    ),
)
