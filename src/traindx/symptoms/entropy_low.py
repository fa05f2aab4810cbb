"""entropy-low: the policy has hardly any randomness left and does not get better."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.policy import NOT_RL, early, enough, late, named, rewarded, span
from traindx.symptoms.recipes import falling, flat, ramp
from traindx.thresholds import Threshold

ID = "entropy-low"
LEFT = Threshold(
    0.15,
    "of its early level",
    "Cui et al. 2025 (entropy mechanism): the score saturates as the entropy is "
    "used up; most of it goes in the first tenth of a collapsing run",
    strong=0.03,
    side="below",
)


def detect(signals: Signals) -> Observation:
    series = named(signals, "entropy")
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    if series is None or not enough(series):
        return Observation(ID, "unknown", "No entropy of the policy is logged in 20 rows.")
    series = _upright(series)
    if series.meaning.part == "density":
        return Observation(ID, "unknown", f"{series.name} is that of continuous actions, which has no zero point.")
    if np.nanmin(series.values) < 0:
        return Observation(ID, "unknown", f"{series.name} is below 0: the entropy of a density has no zero point.")
    first, now = early(series, 0.1), late(series)
    left = now / first if first > 0 else 1.0
    text = f"{series.name} fell from {num(first)} to {num(now)} ({percent(left)} of it)"
    if not LEFT.reached(left):
        return Observation(ID, "absent", f"{series.name} was {num(first)} at first and is {num(now)} now.")
    if rewarded(signals):
        return Observation(ID, "absent", f"{text}, and the reward rose: the policy has settled on what works.")
    return Observation(
        ID,
        "present",
        f"{text}, and the reward did not rise: nothing new is tried any more.",
        span(series),
        series.name,
        LEFT.clarity(left),
    )


def _upright(series: Series) -> Series:
    """The entropy itself where minus the entropy was logged, as a loss."""
    values = series.values[np.isfinite(series.values)]
    turned = series.meaning.part == "negated" or (len(values) > 0 and bool(np.all(values <= 0)))
    return replace(series, values=-series.values) if turned else series


SYMPTOM = Symptom(
    id=ID,
    title="policy entropy is used up",
    severity="problem",
    family="exploration",
    background=0.02,
    needs=("entropy of the policy",),
    doc="""
## What is observed
The entropy of the policy falls to a small share of its early level and the reward does not rise with it.

## How it is measured
The median of the last quarter over that of the first tenth, on at least 20 rows. Present at 15 % or less, plain at 3 %,
unless the reward clearly rose and is still up. Stable-Baselines3 logs minus the entropy, which is turned. Entropies of
continuous actions can be negative and have no zero point: they are not judged.

## Healthy range
Entropy falls as a policy becomes sure. In language models 0.2 to 1 nat a token at the start, falling slowly.

## What it usually means
Exploration is gone: no entropy bonus, clipping that only lets likely tokens grow, too large a learning rate, a reward
that one short answer satisfies.
""",
    detect=detect,
    cases=(
        Case(
            "collapse without gain",
            "present",
            lambda: {
                "reward": flat(80, 0.3, 0.2),
                "reward_std": flat(80, 0.1, 0.1),
                "entropy": falling(80, 0.8, 0.01, pace=20),
            },
        ),
        Case(
            "as SB3 logs it",
            "present",
            lambda: {
                "rollout/ep_rew_mean": flat(80, 20.0, 0.1),
                "train/entropy_loss": -falling(80, 0.69, 0.005, pace=20),
                "time/fps": flat(80, 500.0),
            },
        ),
        Case(
            "sure of what works",
            "absent",
            lambda: {
                "reward": ramp(80, 0.1, 0.9, 0.05),
                "reward_std": flat(80, 0.1, 0.1),
                "entropy": falling(80, 0.8, 0.01, pace=20),
            },
        ),
        Case(
            "half of it left",
            "absent",
            lambda: {"reward": flat(80, 0.3, 0.2), "reward_std": flat(80, 0.1, 0.1), "entropy": ramp(80, 0.8, 0.4)},
        ),
        Case(
            "continuous actions",
            "unknown",
            lambda: {"reward": flat(80, 0.3, 0.2), "reward_std": flat(80, 0.1), "entropy": ramp(80, 2.0, -1.0)},
        ),
        Case("not logged", "unknown", lambda: {"reward": flat(80, 0.3, 0.2), "reward_std": flat(80, 0.1)}),
    ),
)
