"""sees-the-future: outputs depend on later tokens."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.measurements import FutureDependence, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "sees-the-future"
CHANGE = Threshold(
    1e-6,
    "of the largest output",
    "eight times the rounding of single precision, 2^-23: sums in another order change by less",
)
NOISE = fitted(f"{ID}.noise", 10, unit="times the difference of two equal calls")
SHIFTED = fitted(f"{ID}.shifted", 0.95, unit="of the targets that are the next input")


def judge(measured: Measured) -> Observation | None:
    tried = [one for one in measured.all(FutureDependence) if SHIFTED.reached(one.next_tokens)]
    for one in tried:
        if CHANGE.reached(one.change) and NOISE.reached(one.change / one.noise if one.noise else math.inf):
            return seen(
                ID,
                True,
                f"Changing the last token changes the outputs of {one.where} at earlier positions (relative change "
                f"{one.change:.2g}), and the targets are the next tokens: the model sees what it has to predict.",
                at=one,
            )
    if not tried:
        return None
    return seen(
        ID,
        False,
        f"Another last token leaves all outputs of {tried[-1].where} at the {tried[-1].places - 1} earlier places "
        "as they were.",
        at=tried[-1],
    )


def _look(change: float, noise: float = 0.0, next_tokens: float = 1.0) -> FutureDependence:
    return FutureDependence(change=change, noise=noise, places=32, next_tokens=next_tokens, where="GPT")


SYMPTOM = Symptom(
    id=ID,
    title="the model sees the tokens to predict",
    severity="problem",
    family="causality",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A model that is trained to predict the next token changes its outputs at earlier places when the last token is
exchanged.

## How it is measured
Tried once, after the second update, when at least 95 % of the targets are the inputs shifted by one: the model is
called again without gradients in eval mode, twice with the same tokens and once with another last one; random states,
buffers and modes are put back. The outputs at earlier places must change by a millionth of the largest and by ten times
what the equal calls differ by.

## Healthy range
No output before a place depends on tokens behind it.

## What it usually means
The causal mask is missing, is applied after the softmax, or has its triangle the wrong way round; a bidirectional
recurrent layer. The loss falls far below what the text allows, and generated text is poor. """,
    detect=from_measurements(ID, judge),
    cases=(
        Case("no mask", "present", measured=(_look(change=0.013),)),
        Case("a causal mask", "absent", measured=(_look(change=0.0),)),
        Case("rounding alone", "absent", measured=(_look(change=8e-7),)),
        Case("equal calls differ as much", "absent", measured=(_look(change=0.013, noise=0.002),)),
        Case("ten times what equal calls differ by", "present", measured=(_look(change=0.013, noise=0.001),)),
        Case("targets that are something else", "unknown", measured=(_look(change=0.013, next_tokens=0.9),)),
        Case("a log alone", "unknown"),
    ),
)
