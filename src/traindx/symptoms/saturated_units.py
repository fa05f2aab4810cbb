"""saturated-units: units that sit in the flat ends of a sigmoid or tanh."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import FlatOutputs, Measured, NetworkGraph
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.inside import fractions, late_share, learned, objective
from traindx.symptoms.base import Case, Symptom, clarity, percent
from traindx.symptoms.dead_units import first_graph
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.thresholds import fitted

ID = "saturated-units"
SATURATED = 0.5  # of the units of one layer
STRONG_SATURATED = 0.9
START = fitted(f"{ID}.start", 0.6, unit="of a hidden layer's outputs at the flat ends in the first looks", strong=0.8)
START_LAYERS = fitted(f"{ID}.start-layers", 0.5, unit="of the hidden layers that start so")
CLEAR = 0.7  # clarity of layers that start saturated, at the threshold: hardly any reason for it is innocent
_OUTPUT = re.compile(r"(^|\W)(out|output|outputs|head|prob|probs|logits?|gate|gates)\d*(\W|$)")


def judge(measured: Measured) -> Observation | None:
    """Layers that start saturated. What comes later is judged on the series."""
    start = measured.last(FlatOutputs)
    flat = [share for share in start.shares if START.reached(share)] if start is not None else []
    layers = len(flat) / len(start.shares) if start is not None else 0.0
    if start is not None and flat and START_LAYERS.reached(layers):
        others = f", and {len(flat)} of {len(start.shares)} hidden layers have more than {percent(START.value)}"
        others *= len(start.shares) > 1
        return seen(
            ID,
            True,
            f"From the first step, {percent(flat[0])} of the outputs of {start.where} are saturated{others}.",
            at=start,
            clarity=max(CLEAR, START.clarity(flat[0])),
        )
    graph = first_graph(measured)
    if graph is not None and not {"sigmoid", "tanh"} & set(graph.functions):
        return seen(ID, False, "No sigmoid or tanh lies between the loss and the parameters.", at=graph)
    return None


def of_probe(measured: Measured) -> Observation | None:
    """All hidden layers at the moment of a probe."""
    look = measured.last(FlatOutputs)
    if look is None:
        return None
    if not look.shares:
        return seen(ID, False, "The model has no hidden sigmoid or tanh units.", at=look)
    sentence = f"{percent(look.shares[0])} of the outputs of layer {look.where} are saturated"
    flat = sum(START.reached(share) for share in look.shares)
    if not flat or not START_LAYERS.reached(flat / len(look.shares)):
        return seen(ID, False, f"{sentence}, the most of {len(look.shares)} layers.", at=look)
    text = f"{sentence}; {flat} of {len(look.shares)} layers have more than {percent(START.value)}."
    return seen(ID, True, text, at=look, clarity=max(CLEAR, START.clarity(look.shares[0])))


def detect(signals: Signals) -> Observation:
    series = [one for one in usable(signals.run, "saturated") if fractions(one) is not None]
    # an output that is sure of its class is saturated, and gates are meant to be open or shut
    hidden = [one for one in series if not _OUTPUT.search(one.meaning.where)]
    if not hidden:
        missing = "Only outputs and gates have" if series else "No layer has"
        return Observation(ID, "unknown", f"{missing} a logged share of saturated units.")
    worst = max(hidden, key=late_share)
    share = late_share(worst)
    summary = f"{worst.name} is {percent(share)} at the end" + (
        f", the highest of {len(hidden)}" if len(hidden) > 1 else ""
    )
    if share < SATURATED:
        return Observation(ID, "absent", f"{summary} (a problem from {percent(SATURATED)} on).")
    if learned(objective(signals)):
        return Observation(ID, "absent", f"{summary}, but the loss came down by half all the same.")
    values = fractions(worst)
    assert values is not None
    above = np.flatnonzero(values >= SATURATED)
    return Observation(
        ID, "present", f"{summary}: their derivative is close to zero.",
        (float(worst.steps[above[0] if len(above) else 0]), float(worst.steps[-1])), worst.meaning.where or worst.name,
        clarity(share, SATURATED, STRONG_SATURATED),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="units are saturated",
    severity="problem",
    family="units",
    background=0.02,
    needs=("share of saturated units by layer",),
    doc="""
## What is observed
Units of a sigmoid or tanh layer sit near the ends of their range, where the slope is almost zero, so hardly any
gradient passes.

## How it is measured
The logged share of saturated units of hidden layers, fraction or percent, over the last values. Present from half of a
layer on while less than half of the first loss is gone; plain from 90 %. Outputs and gates are left out: a confident
output is saturated by right, and gates are meant to be open or shut. Checklists give the picture (activations
clustered near -1 and 1, inputs beyond ±3) without a share; what counts as saturated is up to whoever logged it,
commonly |tanh| > 0.97 or a sigmoid outside 0.03 to 0.97.

A recording counts so in every hidden layer. Present when half of them have more than 60 % of their outputs at the flat
ends in each of the first three looks; absent when there is no sigmoid or tanh between the loss and the parameters.

## Healthy range
Below a fifth at the beginning with Xavier initialisation. Shares creep up as a classifier grows confident.

## What it usually means
Weights initialised too large, inputs that are not scaled, or a learning rate that drove the weights up. Normalisation
before the activation or a ReLU-like unit removes it; a smaller initialisation is the smaller change.
""",
    detect=from_measurements(ID, judge, otherwise=detect, of_probe=of_probe),
    cases=(
        Case("a probe finds most saturated", "present", probed=(FlatOutputs(layers=2, shares=(0.9, 0.3), where="1"),)),
        Case("a probe finds one of three", "absent", probed=(FlatOutputs(layers=3, shares=(0.9, 0.3, 0.1)),)),
        Case("a probe of a model without", "absent", probed=(FlatOutputs(layers=0, shares=()),)),
        Case(
            "hidden tanh saturates",
            "present",
            lambda: {"saturation/tanh1": ramp(60, 0.2, 0.95), "loss": flat(60, 0.69, 0.003)},
        ),
        Case("in percent, no loss", "present", lambda: {"saturated_frac": flat(30, 72.0)}),
        Case("low share", "absent", lambda: {"saturation/tanh1": flat(60, 0.12), "loss": flat(60, 0.69, 0.003)}),
        Case(
            "saturated but learned",
            "absent",
            lambda: {"saturation/tanh1": flat(60, 0.7), "loss": falling(60, 2.3, 0.1)},
        ),
        Case(
            "only the output", "unknown", lambda: {"saturation/output": flat(60, 0.95), "loss": falling(60, 2.3, 0.1)}
        ),
        Case("not logged", "unknown", lambda: {"loss": falling(60, 2.3, 0.1)}),
        Case(
            "two of three layers start saturated",
            "present",
            measured=(FlatOutputs(layers=3, shares=(0.9, 0.7, 0.1), where="fc1.tanh"),),
        ),
        Case(
            "one of three layers does",
            "unknown",
            measured=(FlatOutputs(layers=3, shares=(0.9, 0.5, 0.1), where="fc1.tanh"),),
        ),
        Case("just below", "unknown", measured=(FlatOutputs(layers=2, shares=(0.59, 0.58), where="fc1.tanh"),)),
        Case(
            "only ReLU",
            "absent",
            measured=(
                NetworkGraph(looks=3, functions=("relu",), whole=3, linear=0, layers=3, first="fc1", last="fc3"),
            ),
        ),
    ),
)
