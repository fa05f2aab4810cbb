"""tied-weights-apart: embedding and head that the config ties hold different numbers."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "tied-weights-apart"

SYMPTOM = Symptom(
    id=ID,
    title="tied weights hold different numbers",
    severity="problem",
    family="tied",
    background=0.002,
    needs=("a checkpoint with its config (traindx checkpoint)",),
    doc="""
## What is observed
The config says that input embedding and output head are one matrix, and the checkpoint holds two that differ.

## How it is measured
`traindx checkpoint` reads `tie_word_embeddings` from config.json beside the weights. Where it is true and the file
stores both matrices in the same shape, they are compared number by number; their distance and cosine are given. A head
that is not stored at all is tied, which is how most libraries save it.

## Healthy range
One stored matrix, or two with the same numbers. Models that are meant to be untied say so in their config.

## What it usually means
The tie was broken by resizing the embedding, copying the model, loading with `strict=False` or sharding, and the two
were trained apart. Loading the file as the config says drops the trained head.
""",
    detect=from_fact(ID),
    cases=(
        Case("two matrices", "present",
             facts=(Fact(ID, True, "The config ties lm_head.weight to wte.weight, but they differ by 31 % of their "
                                   "norm."),)),
        Case("one matrix", "absent", facts=(Fact(ID, False, "lm_head.weight and wte.weight hold the same numbers."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
