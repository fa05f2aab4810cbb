"""batch-not-learned: not even one batch can be learned."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "batch-not-learned"

SYMPTOM = Symptom(
    id=ID,
    title="not even one batch can be learned",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx sanity)",),
    doc="""
## What is observed
Trained on one single batch again and again, the loss hardly falls, whatever optimiser is used.

## How it is measured
By a probe, on a copy: up to 300 updates on one captured batch with the script's own optimiser and with Adam at 1e-3 and
1e-2, dropout off. Present when each of them leaves more than 90 % of what the best constant answer reaches (or of the
first loss, where the loss function is not known) after at least 100 updates. Absent when one of them takes away half.

## Healthy range
Any model that is wired correctly learns one batch to less than a tenth of that within 300 updates.

## What it usually means
Not the learning rate: the model, its wiring or the loss. Gradients that do not arrive (detached, dead, vanished,
frozen), an output that cannot reach the targets, a loss that does not depend on the output.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "Neither your optimiser nor Adam at 0.001 and 0.01 learns one single batch of 64: at best 99 % of what a "
        "constant answer reaches is left after 300 updates.",
        "One batch of 64 is learned: 0.4% of the loss is left.",
    ),
)
