"""8-bit optimisers of bitsandbytes 0.36 to 0.41.0."""

from __future__ import annotations

from traindx.known.base import Example, KnownIssue, Signature

ISSUE = KnownIssue(
    id="bitsandbytes-8bit-optimizer-map",
    title="8-bit optimisers lose precision through a wrong quantisation map",
    kind="fault",
    affects=("bitsandbytes>=0.36,<0.41.1",),
    signature=Signature(
        settings={"optim|optimizer|optimizer_type": ".*8bit.*"},
        symptoms=("nonfinite-loss", "divergence", "oscillation"),
    ),
    shows_if="an 8-bit optimiser is used",
    happens=(
        "The map that stores optimiser states in 8 bits is built wrongly, so the loss becomes NaN or does not settle."
    ),
    do="Upgrade bitsandbytes to 0.41.1 or later, or use a 32-bit optimiser.",
    source="https://github.com/bitsandbytes-foundation/bitsandbytes/issues/659",
    fixed="0.41.1",
    example=Example(
        versions={"bitsandbytes": "0.39.0"},
        outside={"bitsandbytes": "0.41.1"},
        settings={"optim": "adamw_8bit"},
        symptoms=("nonfinite-loss",),
    ),
)
