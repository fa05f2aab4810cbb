"""padding-in-loss: padding counted in the loss."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "padding-in-loss"

SYMPTOM = Symptom(
    id=ID,
    title="padding counted in the loss",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
        "input tokens",
    ),
    doc="""
## What is observed
A large part of the targets is padding that the loss does not ignore.

## How it is measured
A recording compares targets of sequences with the tokens that went into the embedding: rows end in runs of one
target, of different length, where the input is constant too; they make up more than 30 % of all targets, and the
value is not `ignore_index` and not weighted with 0.

## Healthy range
Padding is ignored (`ignore_index`), masked by hand, or rare.

## What it usually means
`ignore_index` was not set to the padding token, or labels were not replaced by -100.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "43 % of the targets of cross_entropy are token 0 at the ends of the sequences, where the input is "
        "padding too, and it is not ignore_index (-100).",
        "Padding is ignored.",
    ),
)
