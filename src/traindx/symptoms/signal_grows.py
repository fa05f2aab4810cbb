"""signal-grows: the signal grows from layer to layer."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from traindx.diagnosis import Observation
from traindx.measurements import FirstPass, Measured, RateAlong
from traindx.signals import Signals
from traindx.signals.inside import learned, objective
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import FromProbe, seen
from traindx.symptoms.rates_along import FADED, along_depth, change, is_sure, signal_sentence
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold, fitted

ID = "signal-grows"
OUTPUTS = Threshold(3, "outputs", "growth from one output to the next is a step, and only several of them a trend")
GROWN = fitted(
    f"{ID}.grown", 3.0, unit="powers of ten from the weakest output of the first pass to its last", strong=6.0
)
RISING = fitted(f"{ID}.rising", 0.8, unit="of the steps from one output to the next, which go up")
CLEAR = 0.5  # clarity at the threshold
LARGEST = 1e300  # what overflows counts as this


def judge(measured: Measured) -> Observation | None:
    """Only growth is reported: that there is none in the first pass says nothing of what training makes of it."""
    look = measured.last(FirstPass)
    sizes = [math.log10(min(one, LARGEST)) for one in look.spreads if one > 0] if look is not None else []
    if look is None or not OUTPUTS.reached(len(sizes)):
        return None
    grown = sizes[-1] - min(sizes)
    rising = sum(after > before for before, after in pairwise(sizes)) / (len(sizes) - 1)
    if not (GROWN.reached(grown) and RISING.reached(rising)):
        return None
    return seen(
        ID,
        True,
        f"In the untrained model what varies with the input grows {10**grown:.2g}-fold over {len(sizes)} outputs, from "
        f"{look.first} to {look.where}.",
        at=look,
        clarity=max(CLEAR, GROWN.clarity(grown)),
    )


def of_probe(measured: Measured) -> Observation | None:
    look = along_depth(measured, "signal")
    if look is None or (FADED.reached(change(look)) and not is_sure(look)):
        return None
    grows = FADED.reached(change(look))
    clear = FADED.clarity(change(look)) if grows else 1.0
    return seen(ID, grows, signal_sentence(look), at=look, where=look.last, clarity=clear)


@dataclass(frozen=True)
class _FirstPassOrProbe(FromProbe):
    """What the first pass shows, else what a probe says; a training that worked all the same excuses either."""

    def __call__(self, signals: Signals) -> Observation:
        fact = self.stated(signals.run)
        found = self.judged(signals)
        if found is None or (fact is not None and fact.present):
            return super().__call__(signals)
        if learned(objective(signals)):
            return Observation(ID, "absent", "The training loss came down by half all the same.")
        return found


def _rate(per_layer: float) -> RateAlong:
    return RateAlong(what="signal", per_step=per_layer, error=0.01, steps=10, first="fc1", last="fc10")


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
By a probe: of each layer's output the standard deviation over the samples of a batch, in order of execution. The rate
per layer is the median of all pairwise slopes of its logarithm. Present when it grows more than 10 000 times over the
whole depth and the rate is at least five standard errors away from no change; plain from 1e8. A recording looks at
the first pass through the untrained model in the same way, recurrent layers and loops that multiply by the same
weights at eight moments of a sequence. It tells only of growth, by 1 000 times and more from the weakest of three
outputs at least to the last, with four of five steps going up; plain from 1e6. A training loss that came down by half
excuses both.

## Healthy range
Within a factor of a hundred over the whole depth.

## What it usually means
Initial weights that are too large (a standard deviation of 1 in layers that are hundreds wide is the usual one), depth
without normalisation, or weights that have already diverged.
""",
    detect=_FirstPassOrProbe(ID, judge, of_probe=of_probe),
    cases=(
        Case("a probe saw it", "present", probed=(_rate(7.9),)),
        Case("a probe looked for it", "absent", probed=(_rate(1.1),)),
        Case(
            "ten times a layer",
            "present",
            measured=(FirstPass(first="fc1", spreads=(1.0, 9.0, 110.0, 900.0, 1e4), where="fc5"),),
        ),
        Case(
            "ten times a layer, and it learns",
            "absent",
            lambda: {"train_loss": falling(100, 2.3, 0.2)},
            measured=(FirstPass(first="fc1", spreads=(1.0, 9.0, 110.0, 900.0, 1e4), where="fc5"),),
        ),
        Case(
            "nine hundred times in all",
            "unknown",
            measured=(FirstPass(first="fc1", spreads=(1.0, 9.0, 110.0, 900.0), where="fc4"),),
        ),
        Case(
            "one huge layer among others",
            "unknown",
            measured=(FirstPass(first="fc1", spreads=(3.0, 2.0, 1.0, 1e4), where="fc4"),),
        ),
        Case(
            "two outputs: too few to say",
            "unknown",
            measured=(FirstPass(first="fc1", spreads=(1.0, 1e4), where="fc2"),),
        ),
        Case("a log alone", "unknown"),
    ),
)
