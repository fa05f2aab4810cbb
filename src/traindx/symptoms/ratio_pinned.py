"""ratio-pinned: the probability ratio never leaves 1, although samples are used several times."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import AdvantageSpread, Measured, RatioSpread
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, enough, named, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "ratio-pinned"
MIN_LOOKS = Threshold(3, "looks at data that were used before", "an update may have been lost to warm-up")
PINNED = Threshold(0.95, "of those looks", "one update is enough to move a ratio")
NEVER = Threshold(1e-7, "of the ratio or the KL of an update", "the resolution of float32 near 1", side="below")
REUSED = Threshold(2, "passes over the same samples", "with a single one the ratio is 1 by construction")
PASSES = ("n_epochs", "num_ppo_epochs", "ppo_epochs", "update_epochs", "num_iterations", "num_learning_epochs",
          "mini_epochs", "num_epochs_per_batch")  # fmt: skip


def judge(measured: Measured) -> Observation | None:
    """By the ratios themselves, at looks at data that an update before had used."""
    spread = measured.last(AdvantageSpread)
    for one in measured.latest(RatioSpread):
        if not MIN_LOOKS.reached(one.reused) or (spread is not None and spread.zero == spread.looks):
            continue
        text = f"All ratios are exactly 1 in {one.pinned} of {one.reused} checks of data that an update had used before"
        if PINNED.reached(one.pinned / one.reused):
            return seen(ID, True, f"{text}: old and new probabilities are the same numbers.", at=one)
        return seen(ID, False, f"{text}; they reach from {num(one.lowest)} to {num(one.highest)}.", at=one)
    return None


def detect(signals: Signals) -> Observation:
    if signals.kind != "rl":
        return Observation(ID, "unknown", NOT_RL)
    ratio, moved = named(signals, "ratio"), named(signals, "kl", ("update",))
    series = ratio if enough(ratio) else moved
    if series is None or not enough(series):
        return Observation(ID, "unknown", "Neither the ratio nor the KL divergence of updates is logged in 20 rows.")
    if signals.trainer is not None and signals.trainer.rounded:
        return Observation(ID, "unknown", f"{series.name} is printed with few decimals: a small number reads 0.")
    away = np.abs(series.values - (1.0 if series is ratio else 0.0))
    widest = float(np.nanmax(away))
    if not NEVER.reached(widest):
        return Observation(ID, "absent", f"{series.name} moves by up to {num(widest)} in an update.")
    passes = _passes(signals)
    if passes is None or not REUSED.reached(passes):
        return Observation(ID, "unknown", f"{series.name} never moves, as it should where every sample is used once.")
    return Observation(
        ID, "present", f"{series.name} is {num(float(series.values[-1]))} in all {len(series)} rows although samples "
                       f"are used {passes:.0f} times: old and new probabilities are the same numbers.",
        span(series), series.name,
    )  # fmt: skip


def _passes(signals: Signals) -> float | None:
    """How often a sample is used for an update: from the settings, else what the trainer does by default."""
    for key, value in signals.run.config.items():
        if key.rsplit(".", 1)[-1].lower() in PASSES and isinstance(value, int | float):
            return float(value)
    return None if signals.trainer is None else signals.trainer.passes


SYMPTOM = Symptom(
    id=ID,
    title="probability ratio never leaves 1",
    severity="problem",
    family="ratio",
    background=0.01,
    needs=("probability ratio, or KL divergence of updates",),
    doc="""
## What is observed
The ratio of new to old probability is exactly 1 in every row, or the KL divergence of an update exactly 0.

## How it is measured
At least 20 rows, none of them further away than the resolution of float32, in a training that uses each batch of
samples at least twice (settings such as `n_epochs`, `num_iterations`, or what the trainer does by default). Logs that
print three decimals cannot tell.

## Healthy range
With one update a batch the ratio is 1 by construction (TRL's GRPO by default). With several it leaves 1 from the second
on.

## What it usually means
The old log-probabilities are computed with the updated policy, or not detached, so that clipping never acts; or the
update changes nothing.
""",
    detect=from_measurements(ID, judge, detect),
    cases=(
        Case("a recording saw ratios of 1 at every epoch", "present", measured=(
            RatioSpread(looks=9, reused=8, pinned=8, fresh=1, lowest=1, highest=1, outside=0, clip=0.2),)),
        Case("a recording saw them move", "absent", measured=(
            RatioSpread(looks=9, reused=8, pinned=0, fresh=1, lowest=0.8, highest=1.2, outside=0.1, clip=0.2),)),
        Case("a recording saw each batch used once", "unknown", measured=(
            RatioSpread(looks=9, reused=0, pinned=0, fresh=9, lowest=1, highest=1, outside=0, clip=0.2),)),
        Case("ratio of 1 in four passes", "present",
             lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1), "ratio": flat(40, 1.0, 0),
                      "approx_kl": flat(40, 0.0)}, {"num_iterations": 4}),
        Case("one pass", "unknown",
             lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1), "approx_kl": flat(40, 0.0)},
             {"num_iterations": 1}),
        Case("it moves", "absent",
             lambda: {"ep_rew_mean": ramp(40, 10, 50), "ep_len_mean": flat(40, 9.0), "approx_kl": flat(40, 0.01, 0.3)}),
        Case("not logged", "unknown", lambda: {"reward": flat(40, 0.3, 0.2), "reward_std": flat(40, 0.1)}),
    ),
)  # fmt: skip
