"""slow-rank: the ranks wait for one of them."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "slow-rank"

SYMPTOM = Symptom(
    id=ID,
    title="ranks wait for one of them",
    severity="problem",
    family="waiting",
    background=0.002,
    needs=("a recording of all ranks (traindx run -- torchrun …)",),
    doc="""
## What is observed
One and the same rank comes last to the exchange of gradients, step after step, and the others wait for it.

## How it is measured
In synchronous training every rank takes the same time for a step, since they wait for each other in `backward`. What a rank
spends before it, on its data, its forward pass and the code around them, is its own. These times are compared stretch by
stretch; steps that the recorder looked at closely are left out. Present when one rank takes longer than the middle of the
others by at least 20 % of the step and 2 ms, over the whole run and in three stretches of four. With sharded models the
forward pass waits too, and on a GPU the host runs ahead of the device: there only the wait for data is compared.

## Healthy range
Below 10 % of the step. A rank that is last once in a while is chance.

## What it usually means
Unequal work or unequal machines: longer samples or a slower disk on one rank, validation, logging or checkpoints on rank 0
only, a processor shared with another job.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "Before each exchange rank 1 takes 43 ms longer than the others, waiting for its data: they wait for it 78% of the step time.",
        "No rank keeps the others waiting by more than 10% of a step.",
    ),
)
