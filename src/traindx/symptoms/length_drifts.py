"""length-drifts: answers get much longer or shorter while the reward does not rise."""

from __future__ import annotations

import math

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import NOT_RL, TREND, early, enough, late, named, rewarded, span, trend
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "length-drifts"
FACTOR = Threshold(
    math.log(1.8),
    "log of the factor",
    "lengths of answers vary by tens of per cent from batch to batch",
    strong=math.log(4),
)


def detect(signals: Signals) -> Observation:
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    series = named(signals, "length", ("answer",))
    if series is None or not enough(series):
        return Observation(ID, "unknown", "No length of answers is logged in 20 rows.")
    first, now = early(series), late(series)
    text = f"{series.name} went from {num(first)} to {num(now)}"
    size = abs(math.log(max(now, 1e-3) / max(first, 1e-3)))
    if not FACTOR.reached(size) or not TREND.reached(abs(trend(Curve(series)))):
        return Observation(ID, "absent", f"{text}.")
    if rewarded(signals) or (signals.reward is not None and TREND.reached(-trend(signals.reward))):
        return Observation(ID, "absent", f"{text}, and the reward rose with it.")
    return Observation(
        ID, "present", f"{text} while the reward did not rise.", span(series), series.name, FACTOR.clarity(size)
    )


SYMPTOM = Symptom(
    id=ID,
    title="answers grow or shrink without reward",
    severity="problem",
    family="length",
    background=0.03,
    needs=("length of answers",),
    doc="""
## What is observed
The mean length of answers nearly doubles or halves over the run and the reward does not rise.

## How it is measured
The median of the last quarter over that of the first, at least 20 rows, a trend of three standard deviations
(Mann-Kendall), and a factor of 1.8 or more. Where the reward clearly rose it is no fault: reasoning gets longer as it
gets better.

## Healthy range
Slow growth with the reward in reasoning, slow shrinking where brevity is rewarded.

## What it usually means
A loss that divides each answer by its own length, which favours long wrong answers, a reward that pays for length, or a
collapse into short or endless text.
""",
    detect=detect,
    cases=(
        Case(
            "three times as long",
            "present",
            lambda: {
                "reward": flat(60, 0.3, 0.2),
                "reward_std": flat(60, 0.1),
                "completions/mean_length": ramp(60, 200, 650, 0.05),
            },
        ),
        Case(
            "grows with the reward",
            "absent",
            lambda: {
                "reward": ramp(60, 0.1, 0.8, 0.03),
                "reward_std": flat(60, 0.1),
                "completions/mean_length": ramp(60, 200, 650, 0.05),
            },
        ),
        Case(
            "as it was",
            "absent",
            lambda: {
                "reward": flat(60, 0.3, 0.2),
                "reward_std": flat(60, 0.1),
                "completions/mean_length": flat(60, 200, 0.1),
            },
        ),
        Case("episodes", "unknown", lambda: {"ep_rew_mean": flat(60, 10.0, 0.2), "ep_len_mean": ramp(60, 10.0, 200.0)}),
    ),
)
