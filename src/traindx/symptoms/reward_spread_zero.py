"""reward-spread-zero: all answers of a group earn the same, so that no advantage is left."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RewardGroups
from traindx.run import Series
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.policy import NOT_RL, at_its_top, enough, late, named, rewarded, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "reward-spread-zero"
EQUAL = Threshold(0.8, "share of groups", "DAPO (Yu et al. 2025, 3.2): a group whose rewards are all equal has no "
                  "gradient; above this four fifths of the batch are lost", strong=0.98)  # fmt: skip
ZERO = 0.0

MIN_LOOKS = Threshold(4, "looks", "first groups may all fail")
RISEN = 0.25  # of its first mean: where rewards became equal at a higher level, they were learnt


def judge(measured: Measured) -> Observation | None:
    """By the rewards themselves, in their groups."""
    one = measured.last(RewardGroups)
    if one is None or not MIN_LOOKS.reached(one.looks):
        return None
    share = one.same / one.groups
    of = f"groups of {one.size}" if one.size else "batches"
    text = f"{percent(share)} of {one.groups} {of} have one and the same reward ({one.where}, mean {num(one.mean)})"
    if not EQUAL.reached(share):
        return seen(ID, False, f"{text}.", at=one)
    if one.mean > one.first_mean + abs(one.first_mean) * RISEN:
        return seen(ID, False, f"{text}: the mean rose from {num(one.first_mean)}, the prompts are solved.", at=one)
    return seen(ID, True, f"{text}, which gives no gradient.", at=one, clarity=EQUAL.clarity(share))


def detect(signals: Signals) -> Observation:
    share, spread = named(signals, "equal_groups"), named(signals, "reward_spread", ("",))
    found = _groups(share) if enough(share) else _spread(spread) if enough(spread) else None
    if found is None:
        why = NOT_RL if signals.kind != "rl" else "Neither a spread of rewards nor a share of equal groups is logged."
        return Observation(ID, "unknown", why)
    if found.state == "present" and rewarded(signals) and signals.reward is not None:
        reward = signals.reward
        return Observation(
            ID, "absent", f"{found.evidence} {reward.name} rose to {num(reward.logged(reward.now))}: the prompts are "
                          f"solved, and nothing is left to learn from them."
        )  # fmt: skip
    if found.state == "present" and at_its_top(signals):
        return Observation(ID, "absent", f"{found.evidence} {at_its_top(signals)}", noted=True)
    return found


def _groups(series: Series | None) -> Observation:
    assert series is not None
    level = late(series)
    text = f"{percent(level)} of the recent groups have equal rewards ({series.name})"
    if not EQUAL.reached(level):
        return Observation(ID, "absent", f"{text}.")
    return Observation(ID, "present", f"{text}, which gives no gradient (too many from {percent(EQUAL.value)}).",
                       span(series), series.name, EQUAL.clarity(level))  # fmt: skip


def _spread(series: Series | None) -> Observation:
    assert series is not None
    still = float(np.mean(np.abs(series.values[np.isfinite(series.values)]) == ZERO))
    level = late(series)
    if not EQUAL.reached(still):
        return Observation(ID, "absent", f"{series.name} is {num(level)} lately: answers to one prompt differ.")
    return Observation(ID, "present", f"{series.name} is exactly 0 in {percent(still)} of the rows: all answers earn "
                                      f"the same and no gradient is left.",
                       span(series), series.name, EQUAL.clarity(still))  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="rewards are equal within every group",
    severity="problem",
    family="reward-spread",
    background=0.02,
    needs=("spread of rewards (reward_std, frac_reward_zero_std)",),
    doc="""
## What is observed
All answers to one prompt earn the same reward, in most groups and for most of the run.

## How it is measured
On the share of groups without spread (`frac_reward_zero_std`), else on how often the logged spread is exactly 0.
Present from 80 % of the groups over the last quarter of at least 20 rows. Where the reward has clearly risen the
prompts are solved, and that is no fault.

## Healthy range
Below about half. The share rises as prompts are solved; DAPO samples such groups again.

## What it usually means
A reward that nothing reaches (format too strict, answers cut off, wrong parsing) or that everything reaches, prompts
that are far too hard or too easy, sampling without randomness (temperature 0, the same seed), or groups of one.
""",
    detect=from_measurements(ID, judge, detect),
    cases=(
        Case("a recording saw no spread", "present", measured=(
            RewardGroups(looks=8, groups=64, same=64, size=8, mean=0, first_mean=0, std=0, where="rewards"),)),
        Case("a recording saw spread", "absent", measured=(
            RewardGroups(looks=8, groups=64, same=6, size=8, mean=0.4, first_mean=0.3, std=0.3, where="rewards"),)),
        Case("no group differs", "present",
             lambda: {"reward": flat(40, 0.0), "reward_std": flat(40, 0.0), "frac_reward_zero_std": flat(40, 1.0, 0)}),
        Case("no spread logged but zero", "present", lambda: {"reward": flat(40, 0.0), "reward_std": flat(40, 0.0)}),
        Case("a quarter of the groups", "absent",
             lambda: {"reward": flat(40, 0.4, 0.2), "reward_std": flat(40, 0.3, 0.2),
                      "frac_reward_zero_std": flat(40, 0.25, 0.2)}),
        Case("solved", "absent",
             lambda: {"reward": ramp(60, 0.1, 1.0, 0.02), "reward_std": ramp(60, 0.4, 0.0),
                      "frac_reward_zero_std": ramp(60, 0.2, 1.0)}),
        Case("ten rows", "unknown", lambda: {"reward": flat(10, 0.0), "reward_std": flat(10, 0.0)}),
        Case("no reward", "unknown", lambda: {"loss": flat(100, 2.0)}),
    ),
)  # fmt: skip
