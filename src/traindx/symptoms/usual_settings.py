"""What the symptoms of settings share: a number that the run was given, beside what published recipes use."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.signals.rates import CALLED, USUAL_LR, family_of, peak_lr
from traindx.symptoms.base import num
from traindx.thresholds import Threshold


def above_usual(
    identifier: str, signals: Signals, setting: str, high: Threshold, usual: Threshold, times: float = 1.0
) -> Observation:
    """A setting that is high, usual or in between; `times` is how much more it does than the same number elsewhere."""
    called = setting.replace("_", " ")
    value = lookup.number(signals.run.config, setting)
    if value is None:
        return Observation(identifier, "unknown", f"The settings do not tell the {called}.")
    text = f"{called.capitalize()} is {num(value)}"
    if high.reached(times * value):
        return Observation(identifier, "present", f"{text}.", clarity=high.clarity(times * value))
    if usual.reached(value):
        return Observation(identifier, "absent", f"{text}.")
    return Observation(identifier, "unknown", f"{text}: neither low nor high.")


def rate_against_usual(identifier: str, signals: Signals, beyond: Threshold, *, above: bool) -> Observation:
    """The highest learning rate of the run beside the usual range of its optimiser, in powers of ten."""
    rate, family = peak_lr(signals), family_of(signals)
    if rate is None or not 0 < rate < math.inf:
        return Observation(identifier, "unknown", "The learning rate is not known.")
    low, high = USUAL_LR[family]
    powers = math.log10(rate / high if above else low / rate)
    said, called = f"The learning rate is {num(rate)}", CALLED[family]
    if powers > 0 and beyond.reached(powers):
        limit = (
            f"the usual limit for {called} is {num(high)}" if above else f"{called} usually need {num(low)} at least"
        )
        return Observation(identifier, "present", f"{said}; {limit}.", clarity=beyond.clarity(powers))
    if not family:
        return Observation(identifier, "unknown", f"{said}, for an optimiser that is not known.")
    side = "high" if above else "low"
    return Observation(identifier, "absent", f"The learning rate {num(rate)} is not {side} for {called}.")
