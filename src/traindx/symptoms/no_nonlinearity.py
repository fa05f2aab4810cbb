"""no-nonlinearity: no activation function between the layers."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NetworkGraph
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "no-nonlinearity"
MIN_LOOKS = Threshold(2, "whole graphs read", "the first loss may be that of another part of the model")
LAYERS = Threshold(3, "layers in a row", "two may be a low-rank pair that is meant to be linear")
PAIR_CLARITY = 0.85


def judge(measured: Measured) -> Observation | None:
    look = next((one for one in measured.all(NetworkGraph) if MIN_LOOKS.reached(one.whole)), None)
    if look is None:
        return None
    if look.linear < look.whole:
        return seen(ID, False, "There are non-linear functions between the layers.", at=look)
    named = f" ({look.first} to {look.last})" if look.first else ""
    return seen(
        ID,
        True,
        f"{look.layers} layers with weights follow one another{named} and there is no activation function between any "
        "two of them: together they are one linear layer.",
        at=look,
        where=look.first,
        clarity=1.0 if LAYERS.reached(look.layers) else PAIR_CLARITY,
    )


def _graph(whole: int, linear: int) -> NetworkGraph:
    return NetworkGraph(looks=whole, functions=(), whole=whole, linear=linear, layers=3, first="fc1", last="fc3")


SYMPTOM = Symptom(
    id=ID,
    title="layers follow one another without an activation",
    severity="problem",
    family="linear",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Two or more layers with weights follow one another, and nothing between any of them is non-linear: together they can
do no more than one linear layer.

## How it is measured
The graph from the loss to the parameters: every operation between two multiplications by weights is linear (sums,
views, constant factors, dropout, pooling, batch norm). Present when the first two graphs that could be read to their
end are so, less clear for two layers than for more. Whatever comes after the last layer belongs to the loss.

## Healthy range
An activation function after every hidden layer. A single linear layer (logistic regression) has nothing between
layers. Low-rank pairs inside a network that has activations elsewhere are no finding.

## What it usually means
The activation was forgotten, defined in __init__ and never called in forward, or removed in a clean-up.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("three linear layers", "present", measured=(_graph(1, 1), _graph(2, 2))),
        Case("an MLP", "absent", measured=(_graph(1, 0), _graph(2, 0))),
        Case("one of two losses is linear in the layers", "absent", measured=(_graph(2, 1),)),
        Case("one look: too few to say", "unknown", measured=(_graph(1, 1),)),
        Case("a log alone", "unknown"),
    ),
)
