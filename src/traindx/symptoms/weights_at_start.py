"""weights-at-start: weight matrices of a trained model still lie at their initial distribution."""

from __future__ import annotations

from traindx.run import Fact
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_fact

ID = "weights-at-start"

SYMPTOM = Symptom(
    id=ID,
    title="weights are still at their initial distribution",
    severity="problem",
    family="start",
    background=0.002,
    needs=("a checkpoint of the model (traindx checkpoint)",),
    doc="""
## What is observed
The model was trained, but weight matrices in its checkpoint are not distinguishable from the random numbers they were
initialised with.

## How it is measured
`traindx checkpoint` compares every weight matrix with the uniform starts of the libraries (torch's ±1/√fan-in, Xavier,
He). Such a start has sharp edges: of n weights the largest lies within about 1/n of the bound, and any training pushes
some of them across. Present when a quarter of all weights in matrices still ends exactly at its bound and fits the
distribution (Kolmogorov-Smirnov), plain from nine tenths. That the model was trained must be known: from the step
count, the optimiser's state, or gains of normalisation layers that have moved. Normal starts have no edges and are only
remarked in the table; embeddings, biases and adapters do not count.

## Healthy range
Every matrix that is trained leaves its bounds within a few dozen updates: one in a million weights moved by a
thousandth of the bound is enough. Single random matrices that nobody uses (a pooler, an auxiliary head) are common.

## What it usually means
The parameters were not given to the optimiser, are frozen, or no gradient reaches them; or the file was saved from
another object than the one that was trained.
""",
    detect=from_fact(ID),
    cases=(
        Case("the encoder never moved", "present",
             facts=(Fact(ID, True, "6 of 8 weight matrices (92 % of their weights) are not distinguishable from "
                                   "initialisation after 5000 updates."),)),
        Case("all moved", "absent",
             facts=(Fact(ID, False, "None of 8 weight matrices lies within the edges of a uniform start after 5000 "
                                    "updates."),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
