"""signal-fades: the signal fades from layer to layer."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RateAlong
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_probe, seen
from traindx.symptoms.rates_along import FADED, along_depth, change, is_sure, signal_sentence
from traindx.symptoms.recipes import falling

ID = "signal-fades"


def judge(measured: Measured) -> Observation | None:
    look = along_depth(measured, "signal")
    if look is None or (FADED.reached(-change(look)) and not is_sure(look)):
        return None
    fades = FADED.reached(-change(look))
    clear = FADED.clarity(-change(look)) if fades else 1.0
    return seen(ID, fades, signal_sentence(look), at=look, where=look.last, clarity=clear)


def _rate(per_layer: float, error: float = 0.01) -> RateAlong:
    return RateAlong(what="signal", per_step=per_layer, error=error, steps=30, first="fc1", last="fc30")


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
    detect=from_probe(ID, judge),
    cases=(
        Case("less than half of it a layer", "present", probed=(_rate(0.41),)),
        Case("nearly all of it a layer", "absent", probed=(_rate(0.95),)),
        Case("a rate that is not sure", "unknown", probed=(_rate(0.41, 0.5),)),
        Case(
            "it fades, and the training works",
            "absent",
            lambda: {"loss": falling(60, 1.0, 0.02)},
            probed=(_rate(0.41),),
        ),
        Case("a log alone", "unknown"),
    ),
)
