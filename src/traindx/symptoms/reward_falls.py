"""reward-falls: the policy earns less than it did at first."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.stats import rank_sum, rolling_median
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.policy import LEVELS, NOT_RL, TREND, change, span, trend
from traindx.symptoms.recipes import flat, ramp, then
from traindx.thresholds import Threshold

ID = "reward-falls"
ROWS = Threshold(20, "rewards", "Henderson et al. 2018: returns of single episodes say nothing; tens are averaged")
CLEAR = Threshold(3.0, "standard deviations (Mann-Kendall)", "one in 700 runs without a trend goes as far", strong=6.0)

SURE = Threshold(3.9, "standard deviations (Mann-Kendall)", "one in 20,000 runs without a trend goes as far")
SUNK = 0.15  # of the first rewards
ALONE = (
    -0.25
)  # correlation of neighbouring steps: -0.5 for independent values, 0 for a random walk, 1 for a running mean
FIRST_STEPS = 8
SMOOTH = 5  # neighbouring levels
LOST = Threshold(0.3, "of the first rewards", "seven tenths gone: no scatter of a batch of answers goes so far")
LONG = Threshold(0.25, "of the rows", "a dip that exploration brings is over after a tenth of the run", strong=0.6)

FIRST = Threshold(10, "rewards", "Henderson et al. 2018: returns of single episodes say nothing; tens are averaged")
TENTH = 10  # of the rows, at least FIRST, are the first level
MAX_VALUES = 4000  # of longer logs the medians of stretches are compared


def detect(signals: Signals) -> Observation:
    curve = signals.reward or signals.main  # without rewards, the share of games won
    if signals.kind != "rl" or curve is None or curve.sign > 0:
        return Observation(ID, "unknown", NOT_RL)
    if not ROWS.reached(len(curve)):
        return Observation(ID, "unknown", f"{curve.name} has {len(curve)} values; {ROWS.value:.0f} can show a trend.")
    first, now = num(curve.logged(curve.initial)), num(curve.logged(curve.now))
    dip = _lost_for_long(curve)
    if dip is not None:
        return dip
    beyond = LEVELS.reached(change(curve)) or _sinks_through_scatter(curve)
    worse = TREND.reached(trend(curve)) and beyond and curve.now > curve.initial
    below = _never_again(curve)
    if not worse and CLEAR.reached(below):
        return Observation(
            ID, "present", f"{curve.name} fell from {first} at once and never got back: it is {now} now.",
            span(curve.series), curve.name, CLEAR.clarity(below),
        )  # fmt: skip
    if not worse:
        return Observation(ID, "absent", f"{curve.name} was {first} at first and is {now} now.")
    return Observation(
        ID, "present", f"{curve.name} fell from {first} to {now}: the policy is worse than the one it began from.",
        span(curve.series), curve.name, CLEAR.clarity(trend(curve)),
    )  # fmt: skip


def _sinks_through_scatter(curve: Curve) -> bool:
    """Values that scatter by more than they fell, each by itself, so that their ranks alone are proof of the trend."""
    values = curve.bins.median
    rest = np.diff(values)  # of independent values, neighbouring steps undo each other by half
    alone = float(np.corrcoef(rest[1:], rest[:-1])[0, 1]) if len(rest) > FIRST_STEPS and np.ptp(rest) > 0 else 0.0
    lost = curve.now - curve.initial > SUNK * abs(curve.initial)
    return lost and alone < ALONE and SURE.reached(trend(curve))


def _never_again(curve: Curve) -> float:
    """By how many standard deviations the first rewards lie above all others in rank (Mann and Whitney), where no later
    stretch of their length is as good; else 0."""
    values = curve.y if len(curve.y) <= MAX_VALUES else curve.bins.median
    count = max(int(FIRST.value), len(values) // TENTH)
    if len(values) < 4 * count:
        return 0.0
    first, later = values[:count], values[count:]
    again = float(rolling_median(later, count).min()) <= float(np.median(first))
    return 0.0 if again else rank_sum(later, first)


def _lost_for_long(curve: Curve) -> Observation | None:
    """A reward that was there from the first rows on, was lost for a good part of the run, and came back."""
    levels = rolling_median(curve.bins.median, SMOOTH) * curve.sign
    start = float(levels[0])
    low = levels < LOST.value * start
    share = float(low.mean())
    back = curve.logged(curve.now)
    if start <= 0 or curve.logged(float(curve.y.max())) < 0 or not LONG.reached(share) or back < start / 2:
        return None
    rows = np.flatnonzero(low)
    if rows[-1] - rows[0] + 1 > len(rows) + SMOOTH:
        return None  # it comes and goes: noise of small batches
    return Observation(
        ID, "present", f"{curve.name} fell from {num(start)} to {num(float(np.median(levels[low])))} for "
        f"{percent(share)} of the run and came back to {num(back)}: that part was spent on repairing it.",
        (float(curve.bins.first[rows[0]]), float(curve.bins.last[rows[-1]])), curve.name, LONG.clarity(share),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="reward falls below where it began",
    severity="problem",
    family="reward",
    background=0.05,
    needs=("reward",),
    doc="""
## What is observed
The reward goes down over the run and ends below its first level.

## How it is measured
A falling trend (Mann-Kendall from 3 standard deviations) and a last quarter that is below the first by three times the
uncertainty of a level, on at least 20 logged rewards, or of a share of games won where no reward is logged; where the
values scatter each by itself, 3.9 standard deviations and 15 % of the first level are enough. Also present where the
first tenth is above the rest by three standard deviations in rank (Wilcoxon) and no later stretch of its length gets
back to its level, or where a reward that is never negative was below 30 % of its first values in a quarter of the rows
or more and came back. A reward that rose and then collapsed is `divergence`.

## Healthy range
A dip at the start, where exploration or a KL penalty sets in, is usual; it is over after a tenth of the run.

## What it usually means
A sign that is flipped (reward, advantage, loss or KL term), updates that are too large, a sampler or reference that
does not belong to the policy, or an objective other than the logged reward.
""",
    detect=detect,
    cases=(
        Case("games won, the fewer the less it moves at random", "present",
             lambda: {"win_rate": ramp(40, 0.5, 0.35, 0.05), "epsilon": ramp(40, 0.98, 0.05),
                      "avg_loss": flat(40, 0.003, 0.05)}),
        Case("falls all the way", "present",
             lambda: {"reward": ramp(80, 0.6, 0.1, 0.1), "reward_std": flat(80, 0.3, 0.1)}),
        Case("falls at once and stays there", "present",
             lambda: {"ep_rew_mean": then(flat(40, 22.0, 0.3), flat(600, 9.5, 0.1)),
                      "ep_len_mean": flat(640, 100.0, 0.1)}),
        Case("lost for half of the run, then back", "present",
             lambda: {"reward": then(flat(12, 140.0, 0.05), flat(35, 8.0, 0.3), flat(23, 150.0, 0.05)),
                      "reward_std": flat(70, 5.0, 0.1)}),
        Case("rises", "absent", lambda: {"reward": ramp(80, 0.1, 0.6, 0.1), "reward_std": flat(80, 0.3, 0.1)}),
        Case("a dip, then better", "absent",
             lambda: {"ep_rew_mean": then(ramp(20, 30.0, 20.0, 0.05), ramp(100, 20.0, 200.0, 0.05)),
                      "ep_len_mean": flat(120, 100.0, 0.1)}),
        Case("eight values", "unknown", lambda: {"reward": ramp(8, 0.6, 0.1), "reward_std": flat(8, 0.3)}),
        Case("no reward", "unknown", lambda: {"loss": flat(100, 2.0)}),
    ),
)  # fmt: skip
