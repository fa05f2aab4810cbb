"""values-below-rewards: values never reach the size of what they are to predict."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ValueScale
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import named
from traindx.symptoms.recipes import flat
from traindx.thresholds import Threshold

ID = "values-below-rewards"
MIN_LOOKS = Threshold(12, "looks", "a critic begins near 0 and needs a while to reach its targets")
LARGE = Threshold(200.0, "largest absolute reward", "critics and coefficients are made for rewards of about one "
                  "(Engstrom et al. 2020); the rare rewards of usual tasks go to 100", strong=1000.0)  # fmt: skip
BELOW = Threshold(0.2, "times the largest reward", "with a discount near 1 values are sums of many rewards",
                  side="below")  # fmt: skip
EXPLAINED = Threshold(0.05, "of the variance of the returns", "a critic that learns explains a part of them")
ROWS = 5


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(ValueScale):
        if not MIN_LOOKS.reached(one.looks) or not one.reward:
            continue
        if LARGE.reached(one.reward) and BELOW.reached(one.last / one.reward):
            return seen(
                ID, True, f"Rewards are as large as {num(one.reward)}, and {one.where} has come to {num(one.last)} on "
                          f"average: the critic is far from what it must predict, and its error rules the gradient.",
                at=one, clarity=LARGE.clarity(one.reward),
            )  # fmt: skip
        found = found or seen(
            ID, False, f"{one.where} is {num(one.last)} on average; rewards are as large as {num(one.reward)}.", at=one
        )  # fmt: skip
    return found


def _explains(signals: Signals) -> str:
    """Why small values beside a large reward may be right: rewards are rare, and the critic knows when."""
    series = named(signals, "explained_variance")
    values = series.values[np.isfinite(series.values)] if series is not None else np.zeros(0)
    if series is None or len(values) < ROWS:
        return "How much of the returns the values explain is not known: rewards may be rare."
    level = float(np.median(values[-max(ROWS, len(values) // 4) :]))
    return f"They explain {num(level)} of the variance of the returns." if EXPLAINED.reached(level) else ""


def _small(reward: float, last: float) -> tuple[ValueScale, ...]:
    return (
        ValueScale(looks=26, first=0.1, last=last, largest=last, reward=reward, discount=0.98, rising=0.4, where="v"),
    )


SYMPTOM = Symptom(
    id=ID,
    title="values never reach the size of the rewards",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Single rewards are large, the values of the critic stay far below even one of them, and explain nothing of the returns.

## How it is measured
The mean absolute value at the last looks beside the largest absolute reward, where that is 200 or more: present below a
fifth of it. Not present where the values explain 5 % of the variance of the returns or where that is not known:
rewards that are large and rare have small values.

## Healthy range
Rewards of about one, and values of the size of the returns after a tenth of the run.

## What it usually means
Rewards that are not scaled: a network that starts near 0 needs thousands of updates to reach them, and its squared
error takes the whole gradient where the norm is clipped together with that of the policy.
""",
    detect=from_measurements(ID, judge, excuse=_explains),
    cases=(
        Case("rewards in the thousands", "present", lambda: {"explained_variance": flat(30, 0.0, 0.001)},
             measured=_small(1500.0, 90.0)),
        Case("rare and large", "absent", lambda: {"explained_variance": flat(30, 0.6, 0.01)},
             measured=_small(100.0, 15.0)),
        Case("rewards of about one", "absent", lambda: {"explained_variance": flat(30, 0.0, 0.001)},
             measured=_small(1.5, 60.0)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
