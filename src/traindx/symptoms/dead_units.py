"""dead-units: units that are zero for every input and no longer learn."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, NetworkGraph, UnitsOff, UnitsOn
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.inside import fractions, late_share, learned, objective
from traindx.symptoms.base import Case, Symptom, clarity, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.thresholds import Threshold, fitted

ID = "dead-units"
DEAD = 0.4  # of the units of one layer; checklists name 40 % and 50 %
STRONG_DEAD = 0.8
ZEROS = 0.95  # of the activations: a ReLU is zero for half of its inputs from the first step on
ALL_ZERO = 0.999
PERMANENT = 0.9  # of the highest share must still be there at the end
MIN_LOOKS = Threshold(3, "looks at the graph", "a script may begin with a pass that is no training; three in a row are")
ROWS = fitted(f"{ID}.rows", 24, unit="samples for which every unit of a layer is zero")
OFF = Threshold(
    0.5,
    "of the units of one layer, at one moment",
    "the larger of the two figures of checklists, 40 % and 50 %: a probe does not see whether they come back",
    strong=0.9,
)
UNITS = Threshold(4, "units of a layer", "of three, half are one or two")
NAMED = 4  # names in a sentence


def judge(measured: Measured) -> Observation | None:
    """A layer without a single unit that is on gets no gradient, nor do those before it. Single units are judged on the
    series."""
    looks = measured.all(UnitsOn)
    if looks:
        first, now = looks[0], dict(zip(looks[-1].layers, looks[-1].on, strict=True))
        units = zip(first.layers, first.on, first.rows, strict=True)
        off = [name for name, on, rows in units if not on and ROWS.reached(rows)]
        names = listed(off, len(off))
        if any(now.get(name) for name in off):
            return seen(ID, False, f"Units of {names} that were off at the start came on.", at=looks[-1])
        if off:
            evidence = f"From the first step, every unit of {names} is zero for every sample: no gradient passes."
            return seen(ID, True, evidence, at=first, where=off[0])
    graph = first_graph(measured)
    if graph is not None and "relu" not in graph.functions:
        return seen(ID, False, "No ReLU lies between the loss and the parameters.", at=graph)
    return None


def of_probe(measured: Measured) -> Observation | None:
    look = measured.last(UnitsOff)
    if look is None:
        return None
    if not look.layers:
        return seen(ID, False, "No activation function of the model can switch a unit off for good.", at=look)
    found = list(zip(look.layers, look.off, look.units, look.rows, look.filters, strict=True))
    name, off, units, rows, filters = max(found, key=lambda layer: layer[1] / layer[2])
    share, of = off / units, "filters" if filters else "units"
    sentence = f"{percent(share)} of the {units} {of} of {name} are off in all {rows} rows seen"
    if OFF.reached(share) and UNITS.reached(units):
        text = f"{sentence}, the most of {len(found)} layers."
        return seen(ID, True, text, at=look, where=name, clarity=OFF.clarity(share))
    return seen(ID, False, f"{sentence}: the most of any layer.", at=look, where=name)


def first_graph(measured: Measured) -> NetworkGraph | None:
    """What the first looks together saw, when there were enough of them."""
    return next((one for one in measured.all(NetworkGraph) if MIN_LOOKS.reached(one.looks)), None)


def listed(names: Sequence[str], count: int) -> str:
    """The first names of so many."""
    more = f" and {count - NAMED} more" if count > NAMED else ""
    return ", ".join(names[:NAMED]) + more


def detect(signals: Signals) -> Observation:
    series = [one for one in usable(signals.run, "dead") if fractions(one) is not None]
    if not series:
        return Observation(ID, "unknown", "No share of dead units or zero activations was logged.")
    works = learned(objective(signals))
    worst = max(series, key=lambda one: late_share(one) / (1.0 if not one.meaning.part else 2.5))
    share, zeros = late_share(worst), worst.meaning.part == "zeros"
    place = worst.meaning.where or worst.name
    summary = f"{worst.name} is {percent(share)} at the end" + (
        f", the highest of {len(series)}" if len(series) > 1 else ""
    )
    if zeros and share < ALL_ZERO and (share < ZEROS or works is not False):
        return Observation(
            ID, "absent", f"{summary}; it counts zero activations, of which a ReLU has about half by design."
        )
    if not zeros and (share < DEAD or (works and share < STRONG_DEAD)):
        why = f"a problem from {percent(DEAD)} on" if share < DEAD else "the loss came down by half all the same"
        return Observation(ID, "absent", f"{summary} ({why}).")
    values = fractions(worst)
    assert values is not None
    highest = float(np.nanmax(values))
    permanent = share >= PERMANENT * highest
    limit = ZEROS if zeros else DEAD
    above = np.flatnonzero(values >= limit)
    clear = clarity(share, limit, ALL_ZERO if zeros else STRONG_DEAD)
    return Observation(
        ID, "present",
        f"{summary}, {'and it never fell back' if permanent else f'after {percent(highest)} at most'}.",
        (float(worst.steps[above[0] if len(above) else 0]), float(worst.steps[-1])), place,
        clear if permanent and not works else min(clear, 0.5),
    )  # fmt: skip


def _graph(looks: int, *functions: str) -> NetworkGraph:
    return NetworkGraph(looks=looks, functions=functions, whole=3, linear=0, layers=3, first="fc1", last="fc3")


def _off(off: int, units: int = 10) -> UnitsOff:
    return UnitsOff(layers=("act1", "act2"), off=(0, off), units=(10, units), rows=(128, 128), filters=(False, False))


SYMPTOM = Symptom(
    id=ID,
    title="units are dead",
    severity="problem",
    family="units",
    background=0.02,
    needs=("share of dead units by layer",),
    doc="""
## What is observed
Units of a layer output zero for every input. A ReLU unit without a single positive input gets no gradient and never
comes back by itself.

## How it is measured
The logged share of dead units by layer, fraction or percent, over the last values: present from 40 % in one layer,
plain from 80 %, and less clear when the share has fallen back from its highest (units that woke up were not dead).
Below 80 % a loss that came down by half excuses it: deep residual nets do with less than half of their units. Series
that count zero activations instead of dead units are another matter: present only from 95 % while the loss does not
come down, or when practically everything is zero. Counts without a total are not judged.

A recording counts the units of every ReLU layer that are above zero for any sample. Present when a layer has none in
the first three looks, over 24 samples at least, and none of these layers wakes up later; absent when one does, or when
there is no ReLU between the loss and the parameters.

## Healthy range
A few per cent of dead units are normal in any ReLU net, and 10 to 20 % in wide ones do no harm. Common checklists look
for more than 40 % or 50 % zero *activations*; a freshly initialised ReLU layer has 50 % by symmetry, and trained
transformers reach over 90 % in good health, so that threshold would call every ReLU net ill.

## What it usually means
A learning rate so high that one step pushed the biases far below zero, biases initialised negative, inputs that are
not centred or scaled. Lower the rate first; leaky variants keep a gradient but do not heal the cause.
""",
    detect=from_measurements(ID, judge, otherwise=detect, of_probe=of_probe),
    cases=(
        Case("a probe finds half of a layer off", "present", probed=(_off(5),)),
        Case("a probe finds less", "absent", probed=(_off(4),)),
        Case("a probe finds two of three off", "absent", probed=(_off(2, 3),)),
        Case("a probe of a model that cannot", "absent", probed=(UnitsOff(),)),
        Case(
            "most of a layer dies early",
            "present",
            lambda: {
                "dead_relu/fc1": 0.9 - falling(100, 0.9, 0.02, 0, pace=20),
                "dead_relu/fc2": flat(100, 0.05),
                "loss": flat(100, 2.3, 0.004),
            },
        ),
        Case("in percent", "present", lambda: {"dead_units": ramp(50, 2.0, 70.0)}),
        Case(
            "everything is zero",
            "present",
            lambda: {"zero_fraction/relu1": flat(50, 1.0, 0), "loss": flat(50, 2.3, 0.004)},
        ),
        Case(
            "half zero activations of a ReLU",
            "absent",
            lambda: {"zero_fraction/relu1": flat(50, 0.55, 0.02), "loss": flat(50, 2.3, 0.004)},
        ),
        Case(
            "sparse and learning",
            "absent",
            lambda: {"activations/mlp_zero_frac": flat(50, 0.97, 0.002), "loss": falling(50, 9, 2.0)},
        ),
        Case(
            "wasteful but learning",
            "absent",
            lambda: {"dead_relu/block8": flat(80, 0.45), "loss": falling(80, 2.3, 0.6)},
        ),
        Case("a few per cent", "absent", lambda: {"dead_relu/fc1": flat(80, 0.06)}),
        Case("a count without a total", "unknown", lambda: {"dead_neurons/fc1": flat(80, 310.0)}),
        Case("not logged", "unknown", lambda: {"loss": falling(80, 2.3, 0.4)}),
        Case(
            "a layer is off from the start",
            "present",
            measured=(
                UnitsOn(layers=("fc1.relu", "fc2.relu"), on=(0, 12), rows=(96, 96)),
                UnitsOn(layers=("fc1.relu", "fc2.relu"), on=(0, 12), rows=(160, 96)),
            ),
        ),
        Case(
            "a layer is off at first",
            "absent",
            measured=(
                UnitsOn(layers=("fc1.relu",), on=(0,), rows=(96,)),
                UnitsOn(layers=("fc1.relu",), on=(3,), rows=(160,)),
            ),
        ),
        Case(
            "off for 23 samples: too few to say",
            "unknown",
            measured=(UnitsOn(layers=("fc1.relu",), on=(0,), rows=(23,)),),
        ),
        Case(
            "a unit is on in every layer: the series tell of single ones",
            "unknown",
            measured=(UnitsOn(layers=("fc1.relu",), on=(1,), rows=(96,)),),
        ),
        Case("no ReLU", "absent", measured=(_graph(3, "tanh"),)),
        Case("no ReLU in two looks: too few to say", "unknown", measured=(_graph(2, "tanh"),)),
        Case("a ReLU", "unknown", measured=(_graph(3, "relu"),)),
    ),
)
