"""more-workers-help: steps wait for data, and more loader workers end that."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_fact

ID = "more-workers-help"

SYMPTOM = Symptom(
    id=ID,
    title="more loader workers make steps faster",
    severity="problem",
    family="speed",
    background=0.003,
    needs=("a probe of the training step (traindx speed)",),
    doc="""
## What is observed
Most of a step is waiting for data, and with more loader workers the same step is clearly faster.

## How it is measured
By a probe: training steps run beside the script's data set with its own number of workers and with others, from 0 to
twice the number of cores. Present when steps of at least 10 ms wait for half of their time and the fewest workers that
are nearly as fast as any number (within a tenth) make them 1.3 times as fast, at the lower end of the interval. Streams
are not judged.

## Healthy range
Waiting below a tenth of the step.

## What it usually means
Too few workers for what a sample costs, most often none at all.
""",
    detect=from_fact(ID),
    cases=cases_of(
        ID,
        "With 0 workers a step takes 0.066 s, of which 97% is waiting for data; with 4 workers a step is 3.80 times "
        "(3.60 to 4.01) as fast.",
        "With 2 workers a step takes 0.12 s, of which 2% is waiting for data.",
    ),
)
