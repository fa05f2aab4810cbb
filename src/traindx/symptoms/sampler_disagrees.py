"""sampler-disagrees: trainer and sampler give the same tokens other probabilities, from the first rows on."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, SamplerGap
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, enough, named, risen, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "sampler-disagrees"
APART = Threshold(
    0.1,
    "nats, or difference of probabilities, a token",
    "NeMo-RL holds exp of it below 1.05 to 1.1 in its own tests; half precision alone stays below 0.03",
    strong=0.5,
)
MIN_LOOKS = Threshold(3, "looks at samples that no update has used", "one may hold samples that were kept")
START = 0.25  # of the rows


def judge(measured: Measured) -> Observation | None:
    """By log-probabilities of the same actions or tokens before any update on them."""
    for one in measured.latest(SamplerGap):
        if not MIN_LOOKS.reached(one.looks):
            continue
        first = one.typical - one.changes / 2
        text = f"Log-probabilities of the sampler and of the policy differ by {num(first)} on average at first"
        if APART.reached(first):
            return seen(ID, True, f"{text}: trainer and sampler do not compute the same.", at=one,
                        clarity=APART.clarity(first))  # fmt: skip
        return seen(ID, False, f"{text}.", at=one)
    return None


def detect(signals: Signals) -> Observation:
    series = mismatch(signals)
    if series is None:
        return Observation(
            ID, "unknown", NOT_RL if signals.kind != "rl" else "No comparison of trainer and sampler is logged."
        )
    size = apart(series)
    first = float(np.median(size[: max(1, round(len(size) * START))]))
    text = f"{series.name} differs by {num(first)} nats from agreement in the first quarter"
    if not APART.reached(first):
        return Observation(ID, "absent", f"{text}.")
    return Observation(
        ID,
        "present",
        f"{text} (usual: below 0.03): trainer and sampler do not compute the same.",
        span(series),
        series.name,
        APART.clarity(first),
    )


def mismatch(signals: Signals) -> Series | None:
    """The comparison of log-probabilities between trainer and sampler, where one is logged in enough rows."""
    series = named(signals, "mismatch", ("difference", "ratio"))
    return series if enough(series) else None


def apart(series: Series) -> Floats:
    """How far apart the two are, 0 where they agree: ratios as the size of their logarithm."""
    values = series.values[np.isfinite(series.values)]
    if series.meaning.part == "ratio":
        return np.abs(np.log(np.maximum(values, math.exp(-50))))
    return np.abs(values)


SYMPTOM = Symptom(
    id=ID,
    title="trainer and sampler disagree",
    severity="problem",
    family="sampler",
    background=0.005,
    needs=("log-probabilities of trainer and sampler compared",),
    doc="""
## What is observed
The trainer gives the sampled tokens other probabilities than the engine that sampled them, from the beginning.

## How it is measured
On what trainers log of it: `training/rollout_probs_diff_mean` (verl), `sampling/sampling_logp_difference/mean` and
`sampling/importance_sampling_ratio/mean` (TRL), `gen_kl_error` and `token_mult_prob_error` (NeMo-RL), `vllm_kl`
(OpenRLHF). The median of the first quarter: present from 0.1 nats a token, plain from 0.5. Ratios count by the size of
their logarithm.

## Healthy range
0.001 to 0.03, from rounding in bfloat16; mixtures of experts a little more.

## What it usually means
Other weights, another precision or quantisation, other kernels, a temperature or a top-k that only the sampler applies,
another tokenisation or template.
""",
    detect=from_measurements(ID, judge, detect, risen),
    cases=(
        Case(
            "a recording saw a gap",
            "present",
            measured=(SamplerGap(looks=6, apart=6, typical=0.8, largest=1.2, changes=0.05),),
        ),
        Case(
            "a recording saw none",
            "absent",
            measured=(SamplerGap(looks=6, apart=0, typical=0.0001, largest=0.001, changes=0.0),),
        ),
        Case(
            "half a nat",
            "present",
            lambda: {
                "train/reward": flat(40, 0.3, 0.1),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": flat(40, 0.5, 0.1),
            },
        ),
        Case(
            "ratios of 0.6",
            "present",
            lambda: {
                "reward": flat(40, 0.3, 0.1),
                "reward_std": flat(40, 0.1),
                "sampling/importance_sampling_ratio/mean": flat(40, 0.6, 0.02),
            },
        ),
        Case(
            "rounding",
            "absent",
            lambda: {
                "reward": ramp(40, 0.1, 0.5),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": flat(40, 0.01, 0.2),
            },
        ),
        Case(
            "grows later",
            "absent",
            lambda: {
                "reward": flat(40, 0.3, 0.1),
                "reward_std": flat(40, 0.1),
                "sampling/sampling_logp_difference/mean": 0.005 + ramp(40, 0.0, 1.0) ** 3,
            },
        ),
        Case("not logged", "unknown", lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1)}),
    ),
)
