"""sampler-drifts: trainer and sampler agree at first and part as the training goes on."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, SamplerGap
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, risen, span
from traindx.symptoms.recipes import flat, ramp
from traindx.symptoms.sampler_disagrees import APART, MIN_LOOKS, START, apart, mismatch
from traindx.thresholds import Threshold

ID = "sampler-drifts"
GREW = Threshold(5.0, "times its early level", "rounding alone grows less while the policy sharpens", strong=20.0)

FLOOR = 1e-3  # differences below this are rounding


def judge(measured: Measured) -> Observation | None:
    """By log-probabilities of the same actions or tokens before any update on them."""
    for one in measured.latest(SamplerGap):
        if not MIN_LOOKS.reached(one.looks):
            continue
        first, now = max(0.0, one.typical - one.changes / 2), one.typical + one.changes / 2
        text = f"Log-probabilities of sampler and policy differ by {num(first)} at first and {num(now)} later"
        if APART.reached(now) and GREW.reached(now / max(first, FLOOR)):
            return seen(ID, True, f"{text}: the sampler falls behind the policy.", at=one, clarity=APART.clarity(now))
        return seen(ID, False, f"{text}.", at=one)
    return None


def detect(signals: Signals) -> Observation:
    series = mismatch(signals)
    if series is None:
        return Observation(
            ID, "unknown", NOT_RL if signals.kind != "rl" else "No comparison of trainer and sampler is logged."
        )
    size = apart(series)
    few = max(1, round(len(size) * START))
    first, now = float(np.median(size[:few])), float(np.median(size[-few:]))
    text = (
        f"{series.name} differs by {num(first)} nats from agreement in the first quarter and by {num(now)} in the last"
    )
    if not APART.reached(now) or not GREW.reached(now / max(first, 1e-300)):
        return Observation(ID, "absent", f"{text}.")
    return Observation(
        ID, "present", f"{text}: the sampler falls behind the policy.", span(series), series.name, APART.clarity(now)
    )


SYMPTOM = Symptom(
    id=ID,
    title="sampler falls behind the policy",
    severity="problem",
    family="sampler",
    background=0.005,
    needs=("log-probabilities of trainer and sampler compared",),
    doc="""
## What is observed
The trainer and the engine that samples agree at the beginning and give the same tokens ever more different
probabilities.

## How it is measured
As `sampler-disagrees`, the median of the last quarter: from 0.1 nats a token and five times that of the first quarter.

## Healthy range
A factor of two or three, where the policy becomes sharper or answers longer.

## What it usually means
The sampler keeps older weights: they are not sent, only partly sent (adapters, tied or frozen layers), or cached; or
samples wait too long in a queue.
""",
    detect=from_measurements(ID, judge, detect, risen),
    cases=(
        Case(
            "a recording saw the gap grow",
            "present",
            measured=(SamplerGap(looks=6, apart=5, typical=0.5, largest=1.2, changes=0.9),),
        ),
        Case(
            "a recording saw none",
            "absent",
            measured=(SamplerGap(looks=6, apart=0, typical=0.0001, largest=0.001, changes=0.0),),
        ),
        Case(
            "grows",
            "present",
            lambda: {
                "reward": flat(40, 0.3, 0.1),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": 0.005 + ramp(40, 0.0, 1.0) ** 3,
            },
        ),
        Case(
            "apart from the start",
            "absent",
            lambda: {
                "reward": flat(40, 0.3, 0.1),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": flat(40, 0.5, 0.1),
            },
        ),
        Case(
            "rounding",
            "absent",
            lambda: {
                "reward": ramp(40, 0.1, 0.5),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": ramp(40, 0.01, 0.02),
            },
        ),
        Case("not logged", "unknown", lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1)}),
    ),
)
