"""values-beyond-returns: values exceed anything that can be earned."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ValueScale
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "values-beyond-returns"
MIN_LOOKS = Threshold(6, "looks", "an untrained network may begin anywhere")
TIMES = Threshold(
    3.0,
    "times the largest return there can be",
    "no return exceeds it; Q-values of DQN overshoot by less than two (van Hasselt et al. 2016)",
    strong=10.0,
)
GREW = Threshold(2.0, "times their first size", "the first values may be large by initialisation")


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(ValueScale):
        if not MIN_LOOKS.reached(one.looks) or one.discount is None or not 0 <= one.discount < 1 or not one.reward:
            continue
        bound = one.reward / (1 - one.discount)
        if TIMES.reached(one.last / bound) and GREW.reached(one.last / max(one.first, bound)):
            return seen(
                ID, True, f"{one.where} has grown from {num(one.first)} to {num(one.last)} on average; no return can "
                          f"exceed {num(bound)} (largest reward {num(one.reward)}, discount {num(one.discount)}).",
                at=one, clarity=TIMES.clarity(one.last / bound),
            )  # fmt: skip
        found = found or seen(
            ID, False, f"{one.where} is {num(one.last)} on average; returns can reach {num(bound)}.", at=one
        )  # fmt: skip
    return found


SYMPTOM = Symptom(
    id=ID,
    title="values exceed every possible return",
    severity="problem",
    family="value",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Values or Q-values grow far beyond the largest return that rewards of this size can add up to.

## How it is measured
The mean absolute value at each look beside the largest absolute reward met by 1 - discount, which no return exceeds.

## Healthy range
Below that bound; some overestimation of Q-values early in the training is usual.

## What it usually means
Targets that chase their own overestimates: no target network or one that is copied at every update, bootstrapping
through ends of episodes, a rate that is too high, rewards far from 1.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("explodes", "present", measured=(
            ValueScale(looks=20, first=0.1, last=9000, largest=9000, reward=1, discount=0.99, rising=0.9),)),
        Case("within reach", "absent", measured=(
            ValueScale(looks=20, first=0.1, last=60, largest=80, reward=1, discount=0.99, rising=0.6),)),
        Case("no discount", "unknown", measured=(
            ValueScale(looks=20, first=0.1, last=900, largest=900, reward=1, discount=1.0, rising=0.6),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
