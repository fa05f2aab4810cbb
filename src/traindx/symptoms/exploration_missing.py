"""exploration-missing: hardly anything is tried from the beginning on."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ActionBounds, Exploration, Measured, TrainingEnd
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "exploration-missing"
MIN_LOOKS = Threshold(3, "looks", "one number may be an evaluation's")
RANDOM = Threshold(
    0.02,
    "of the actions are random",
    "final values of published schedules lie between 0.01 and 0.1 (Mnih et al. 2013, 2015)",
    strong=0.005,
    side="below",
)
EARLY = Threshold(0.05, "of the updates", "published schedules fall over a tenth of the training or more", side="below")
ONE_ACTION = Threshold(
    0.98,
    "of the first actions are the same",
    "an untrained policy over two actions takes each of them within a few steps",
    strong=0.999,
)
STEPS = Threshold(500, "steps looked at", "a quarter of them is compared")


def judge(measured: Measured) -> Observation | None:
    chance = measured.last(Exploration)
    if chance is not None and MIN_LOOKS.reached(chance.looks):
        end = measured.last(TrainingEnd)
        at_once = RANDOM.reached(chance.first)
        soon = end is not None and chance.gone_at >= 0 and EARLY.reached(chance.gone_at / max(1, end.updates))
        if at_once or soon:
            when = "from the first update on" if at_once else f"from update {chance.gone_at} on"
            return seen(
                ID, True, f"{chance.where} is {num(chance.first if at_once else chance.last)} {when}: hardly any "
                          f"action is random (usual: from 1 down over 10 % of the training).", at=chance,
                clarity=RANDOM.clarity(chance.first) if at_once else 1.0,
            )  # fmt: skip
    for one in measured.latest(ActionBounds):
        if one.kinds and STEPS.reached(one.looked) and ONE_ACTION.reached(one.commonest):
            return seen(
                ID, True, f"{percent(one.commonest)} of the first actions are the same one of {one.kinds}.", at=one,
                clarity=ONE_ACTION.clarity(one.commonest),
            )  # fmt: skip
    if chance is not None and MIN_LOOKS.reached(chance.looks):
        return seen(
            ID, False, f"{chance.where} goes from {num(chance.first)} to {num(chance.last)}.", at=chance
        )  # fmt: skip
    return None


SYMPTOM = Symptom(
    id=ID,
    title="next to nothing is explored",
    severity="problem",
    family="exploration",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The share of random actions is near zero from the beginning, or the first actions are nearly all the same.

## How it is measured
A variable named epsilon (or exploration rate) beside transitions, at each look; and the discrete actions that the
environment was given in the first quarter of the steps looked at.

## Healthy range
Epsilon begins at 1 and falls over 10 to 50 % of the training; both of two actions are tried within the first steps.

## What it usually means
An epsilon of 0, a schedule that counts episodes as steps, or greedy actions during training.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("never random", "present", measured=(
            Exploration(looks=9, first=0.0, last=0.0, lowest=0.0, gone_at=0, where="epsilon"),)),
        Case("gone after a few updates", "present", measured=(
            Exploration(looks=9, first=0.6, last=0.01, lowest=0.01, gone_at=20, where="epsilon"),
            TrainingEnd(updates=5000, cut_short=False),)),
        Case("one action", "present", measured=(
            ActionBounds(looked=2000, kinds=2, commonest=1.0, distinct=1, outside=0, at_bound=0, std=0, width=0),)),
        Case("falls slowly", "absent", measured=(
            Exploration(looks=9, first=0.9, last=0.05, lowest=0.05, gone_at=-1, where="epsilon"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
