"""same-data-on-ranks: all ranks train on the same batches."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "same-data-on-ranks"

SYMPTOM = Symptom(
    id=ID,
    title="the same data on every rank",
    severity="problem",
    family="rank data",
    background=0.002,
    needs=("a recording of all ranks (traindx run -- torchrun …)",),
    doc="""
## What is observed
In data-parallel training every rank is fed the same batches in the same order.

## How it is measured
Each rank writes a fingerprint of the targets that its loss function sees (the first 1024, weighted by place), or of the loss
where no loss function of torch is called. Present when all ranks have the same one in every step compared, at least six
with at least three different batches among them.

## Healthy range
Different batches on every rank.

## What it usually means
A loader without a distributed sampler. All ranks compute the same gradient, so their mean is the gradient of one: the training
is as slow as on one device and costs as much as on all.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "In all 46 steps looked at, the 2 ranks trained on the same batch.",
        "The 2 ranks train on different batches.",
    ),
)
