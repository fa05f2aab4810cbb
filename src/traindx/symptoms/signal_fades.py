"""signal-fades: the signal fades from layer to layer."""

from __future__ import annotations

from traindx.symptoms.base import Symptom
from traindx.symptoms.observed import cases_of, from_probe

ID = "signal-fades"

SYMPTOM = Symptom(
    id=ID,
    title="the signal fades from layer to layer",
    severity="problem",
    family="gradient-size",
    background=0.003,
    needs=("a probe of the model (traindx activations)",),
    doc="""
## What is observed
What distinguishes one input from another gets smaller with every layer, until the last ones see the same whatever goes
in.

## How it is measured
By a probe: of each layer's output the standard deviation over the samples of a batch, in order of execution. The rate
per layer is the median of all pairwise slopes of its logarithm. Present when less than 1/10 000 is left over the whole
depth and the rate is at least five standard errors away from no change; plain from 1e-8.

## Healthy range
Within a factor of a hundred over the whole depth. Networks with normalisation layers or residual connections keep it by
design; PyTorch's default initialisation loses about half of it with every bare ReLU layer, which ten layers survive and
thirty do not.

## What it usually means
Initial weights that are too small for the depth, or depth without normalisation. Gradients fade as well then. Where the
signal survives and only gradients fade, the activation functions do it.
""",
    detect=from_probe(ID),
    cases=cases_of(
        ID,
        "What varies with the input changes by ×0.41 ± 0.01 a layer from fc1 to fc30 (30 layers), 5.9e-12 times in all.",  # noqa: E501
        "What varies with the input changes by ×0.95 ± 0.01 a layer from fc1 to fc30 (30 layers), 0.22 times in all.",
    ),
)
