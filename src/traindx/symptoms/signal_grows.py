"""signal-grows: the signal grows from layer to layer."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "signal-grows"

SYMPTOM = Symptom(
    id=ID,
    title="the signal grows from layer to layer",
    severity="problem",
    family="gradient-size",
    background=0.003,
    needs=("a probe of the model (traindx activations)",),
    doc="""
## What is observed
The outputs grow with every layer, so that the last ones are huge before anything has been learnt.

## How it is measured
By a probe: of each layer's output the standard deviation over the samples of a batch, in order of execution. The rate per layer is
the median of all pairwise slopes of its logarithm. Present when it grows more than 10 000 times over the whole depth and
the rate is at least five standard errors away from no change; plain from 1e8. A recording looks at the first pass through the
untrained model in the same way, recurrent layers and loops that multiply by the same weights at eight moments of a sequence, and tells only growth of more than 1 000 times that
most of the outputs take part in.

## Healthy range
Within a factor of a hundred over the whole depth.

## What it usually means
Initial weights that are too large (a standard deviation of 1 in layers that are hundreds wide is the usual one), depth without
normalisation, or weights that have already diverged.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "What varies with the input changes by ×7.9 ± 0.1 a layer from fc1 to fc10 (10 layers), 1.2e8 times in all.",
        "What varies with the input changes by ×1.1 ± 0.02 a layer from fc1 to fc10 (10 layers), 2.4 times in all.",
    ),
)
