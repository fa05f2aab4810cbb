"""What fades or grows along the depth of a model or along time, as a probe measured it."""

from __future__ import annotations

import math

from traindx.measurements import Measured, NumbersSeen, RateAlong
from traindx.signals.along import Rate, backwards
from traindx.symptoms.base import num
from traindx.thresholds import Threshold

SURE = Threshold(
    5.0, "standard errors of a rate from no change", "chance goes beyond in less than one of a million cases"
)
FADED = Threshold(
    4.0,
    "powers of ten over the whole depth",
    "ten times what is asked of norms in a whole recording, since a probe sees one moment",
    strong=8.0,
)
LARGEST = 300.0  # powers of ten; what is more counts as this


def rate_measured(
    what: str, rate: Rate, first: str = "", last: str = "", layer: str = "", clipped: bool = False
) -> RateAlong:
    return RateAlong(
        what=what, per_step=rate.per_layer, error=rate.error, steps=rate.layers, first=first, last=last, where=layer,
        clipped=clipped,
    )  # fmt: skip


def change(look: RateAlong) -> float:
    """The powers of ten by which it changes in all, towards the output."""
    powers = math.log10(look.per_step) * (look.steps - 1)
    return max(-LARGEST, min(LARGEST, powers))


def rate_of(look: RateAlong) -> Rate:
    return Rate(look.per_step, look.error, look.steps)


def is_sure(look: RateAlong) -> bool:
    return SURE.reached(rate_of(look).certainty)


def along_depth(measured: Measured, what: str) -> RateAlong | None:
    """The rate of a signal or of the gradient; numbers that are not finite leave none."""
    if any(one.nonfinite for one in measured.all(NumbersSeen)):
        return None
    return next((one for one in measured.all(RateAlong) if one.what == what), None)


def along_time(measured: Measured) -> list[RateAlong]:
    """The rates of recurrent layers, the one that fades most first."""
    return sorted((one for one in measured.all(RateAlong) if one.what == "time"), key=change, reverse=True)


def gradient_sentence(look: RateAlong) -> str:
    return f"{backwards(rate_of(look)).written} over {look.steps} layers (from {look.last} to {look.first})"


def signal_sentence(look: RateAlong) -> str:
    rate = rate_of(look)
    return (
        f"What varies with the input changes by {rate.written} from {look.first} to {look.last} ({look.steps} layers): "
        f"at the end it is {num(rate.whole)} times as large."
    )


def time_sentence(layer: str, rate: Rate) -> str:
    back = backwards(rate).per_layer
    step = f"×{back:.3g} ± {rate.error * back:.1g} for every step back"
    return f"the gradient of {layer} is {step}: {num(1 / rate.whole)} of it over {rate.layers} steps"
