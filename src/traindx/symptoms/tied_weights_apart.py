"""tied-weights-apart: embedding and head that the config ties hold different numbers."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, TiedWeights
from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_fact, from_measurements, seen
from traindx.thresholds import Threshold

ID = "tied-weights-apart"
APART = Threshold(1e-4, "of the norm of the embedding", "copies that are rounded to half precision differ by less")
UPDATES = Threshold(5, "updates", "a tie may be made after the first ones")


def judge(measured: Measured) -> Observation | None:
    look = measured.last(TiedWeights)
    if look is None:
        return None
    if look.same:
        return seen(ID, False, "Embedding and head are one matrix, as the config says.", at=look)
    if not UPDATES.reached(look.updates) or not APART.reached(look.distance):
        return None
    text = (
        f"The config of {look.where} ties embedding and head, and they are two matrices that differ by "
        f"{percent(look.distance)} of their norm after {look.updates} updates."
    )
    return seen(ID, True, text, at=look)


SYMPTOM = Symptom(
    id=ID,
    title="tied weights hold different numbers",
    severity="problem",
    family="tied",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The config says that input embedding and output head are one matrix, and the checkpoint holds two that differ.

## How it is measured
`traindx checkpoint` reads `tie_word_embeddings` from config.json beside the weights. Where it is true and the file
stores both matrices in the same shape, they are compared number by number; their distance and cosine are given. A head
that is not stored at all is tied, which is how most libraries save it. A recording compares the two in models of
transformers whose config ties them, where they are no longer one tensor.

## Healthy range
One stored matrix, or two with the same numbers. Models that are meant to be untied say so in their config.

## What it usually means
The tie was broken by resizing the embedding, copying the model, loading with `strict=False` or sharding, and the two
were trained apart. Loading the file as the config says drops the trained head.
""",
    detect=from_measurements(ID, judge, from_fact(ID)),
    cases=(
        Case("two matrices", "present",
             facts=(Fact(ID, True, "The config ties lm_head.weight to wte.weight, but they differ by 31 % of their "
                                   "norm."),)),
        Case("one matrix", "absent", facts=(Fact(ID, False, "lm_head.weight and wte.weight hold the same numbers."),)),
        Case("apart in training", "present", measured=(TiedWeights(same=False, distance=0.4, updates=60),)),
        Case("apart, not yet trained", "unknown", measured=(TiedWeights(same=False, distance=0.4, updates=1),)),
        Case("one tensor in training", "absent", measured=(TiedWeights(same=True, distance=0.0, updates=0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
