"""loader-at-its-limit: steps wait for data, whatever the number of workers."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "loader-at-its-limit"

SYMPTOM = Symptom(
    id=ID,
    title="no number of loader workers keeps up",
    severity="problem",
    family="speed",
    background=0.003,
    needs=("a probe of the training step (traindx speed)",),
    doc="""
## What is observed
Most of a step is waiting for data, and more loader workers do not change that.

## How it is measured
By a probe: training steps run beside the script's data set with its own number of workers and with others, up to twice
the number of cores. Present when steps of at least 10 ms wait for half of their time with the script's number and with
at least three larger ones, and none of them makes steps 1.3 times as fast.

## Healthy range
Waiting below a tenth of the step with as many workers as there are cores.

## What it usually means
Samples cost more than the machine can give: decoding or augmenting that uses all cores, a slow or remote disk, a lock.
Cache or prepare the data once, move work to the accelerator, or get faster storage; more workers only cost memory.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "With 2 workers a step takes 0.4 s, of which 90% is waiting for data; with 8 still 88%. More workers do not "
        "cure it.",
        "With 2 workers a step takes 0.12 s, of which 2% is waiting for data.",
    ),
)
