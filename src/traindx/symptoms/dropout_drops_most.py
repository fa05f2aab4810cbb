"""dropout-drops-most: a dropout layer throws nearly everything away."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, StrongestDropout
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.newest import newest
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "dropout-drops-most"
MAX_RATE = fitted(f"{ID}.rate", 0.8, unit="of the inputs dropped")
USUAL = Threshold(
    0.5,
    "of the inputs dropped, to be called absent",
    "the rate of wide layers in Srivastava et al. (2014)",
    side="below",
)


def judge(measured: Measured) -> Observation | None:
    return newest(map(_judge, measured.all(StrongestDropout)))


def _judge(dropout: StrongestDropout) -> Observation | None:
    # beside a low rate that was read off the graph there may be others
    if not MAX_RATE.reached(dropout.rate) and not (dropout.is_layer and USUAL.reached(dropout.rate)):
        return None
    name = f" layer, {dropout.where}," if dropout.is_layer else ", called as a function,"
    sentence = f"The strongest dropout{name} drops {percent(dropout.rate)} of its inputs."
    return seen(ID, MAX_RATE.reached(dropout.rate), sentence, at=dropout)


SYMPTOM = Symptom(
    id=ID,
    title="dropout drops nearly everything",
    severity="problem",
    family="dropout",
    background=0.002,
    needs=("recording from the inside",),
    doc="""
## What is observed
A dropout layer of the model sets four fifths of its inputs or more to zero in every training step.

## How it is measured
The rate of the strongest dropout layer of a model when it is first called, and the rate of dropout that is called as a
function, read off the masks in the graph. Present from 0.8 on, absent up to 0.5 in a layer; between them the rate only
counts as a hint beside other symptoms, from 0.6 on.

## Healthy range
0.1 to 0.5. Rates of 0.1 are usual in transformers, 0.5 in wide fully connected layers (Srivastava et al., 2014).

## What it usually means
The rate was meant as the share to keep (as in old TensorFlow), or was raised against overfitting until nothing is
learnt. The training loss then stays well above the validation loss, because validation runs without dropout.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a layer", "present", measured=(StrongestDropout(rate=0.95, is_layer=True, where="2"),)),
        Case("at the threshold", "present", measured=(StrongestDropout(rate=0.8, is_layer=True, where="2"),)),
        Case("high, but some mean it", "unknown", measured=(StrongestDropout(rate=0.7, is_layer=True, where="2"),)),
        Case("usual", "absent", measured=(StrongestDropout(rate=0.2, is_layer=True, where="2"),)),
        Case(
            "a function in a model with a usual layer",
            "present",
            measured=(
                StrongestDropout(rate=0.2, is_layer=True, where="2"),
                StrongestDropout(rate=0.9, is_layer=False),
            ),
        ),
        Case("a function that drops a little", "unknown", measured=(StrongestDropout(rate=0.3, is_layer=False),)),
        Case("a log alone", "unknown"),
    ),
)
