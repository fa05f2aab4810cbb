"""What the symptoms of policies and preferences share: levels early and late, and what a reward did meanwhile."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from traindx.meaning import tokens_of
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.curve import Curve
from traindx.signals.inside import learned
from traindx.signals.stats import mann_kendall
from traindx.thresholds import Threshold

ROWS = Threshold(20, "rows", "medians of a quarter of fewer rows rest on less than five values")
TREND = Threshold(3.0, "standard deviations (Mann-Kendall)", "one in 700 runs without a trend goes as far")
LEVELS = Threshold(3.0, "times the uncertainty of a level", "one in 700 runs without a change goes as far")
FIRST_ROWS = 5  # whose median stands for the beginning
NEAR_TOP = Threshold(0.999, "of 1", "a reward that is 1 in a whole batch is one of right or wrong")
GOOD = Threshold(
    0.75, "of 1", "three answers in four are right: what is left to gain is less than what batches scatter by"
)
TREND_ROWS = Threshold(
    40, "rewards", "Henderson et al. 2018: returns of single episodes say nothing; tens are averaged"
)
STILL = Threshold(1.5, "standard deviations (Mann-Kendall)", "seven of eight runs without a trend stay below",
                  strong=0.5, side="below")  # fmt: skip
MOVED = Threshold(2.0, "times the uncertainty of a level", "19 of 20 runs without a change stay below", side="below")
CERTAIN_ROWS = Threshold(100, "rewards", "with ten means of ten, a reward that does not rise is called flat, not short")
RISING = Threshold(
    1.65,
    "standard deviations (Mann-Kendall)",
    "one in 20 runs without a trend goes as far; it only lets a run be judged",
)
OWN_WORDS = frozenset("intrinsic extrinsic int ext shaped bonus curiosity raw normalized clipped".split())
STATISTICS = frozenset("mean avg average std min max median total sum length".split())
NOT_RL = "No reward is logged: this is no reinforcement learning, as far as the log shows."


def named(signals: Signals, kind: str, parts: Sequence[str] | None = None) -> Series | None:
    """The longest series of a kind in training; `parts`: only those, in this order of preference."""
    found = [one for one in usable(signals.run, kind) if one.meaning.split in ("", "train") and _finite(one).size]
    for part in parts or ():
        of_part = [one for one in found if one.meaning.part == part]
        if of_part:
            return max(of_part, key=len)
    return max(found, key=len, default=None) if parts is None else None


def early(series: Series, share: float = 0.25) -> float:
    """The median over the first rows."""
    values = _finite(series)
    return float(np.median(values[: max(1, round(len(values) * share))]))


def late(series: Series, share: float = 0.25) -> float:
    """The median over the last rows."""
    values = _finite(series)
    return float(np.median(values[-max(1, round(len(values) * share)) :]))


def enough(series: Series | None) -> bool:
    return series is not None and ROWS.reached(len(_finite(series)))


def span(series: Series) -> tuple[float, float]:
    return float(series.steps[0]), float(series.steps[-1])


def rewarded(signals: Signals) -> bool:
    """Whether the reward clearly rose and is still up: what looks odd beside it does no harm."""
    return bool(learned(signals.reward))


def at_its_top(signals: Signals) -> str:
    """Why little can be gained, or "": a reward between 0 and 1 that reached 1, near it from the first rows on."""
    curve = signals.reward
    if curve is None or len(curve) < FIRST_ROWS:
        return ""
    values = curve.series.values[np.isfinite(curve.series.values)]
    whole = float(values.min()) >= 0 and NEAR_TOP.reached(float(values.max()))
    first, last = np.median(values[:FIRST_ROWS]), np.median(values[-FIRST_ROWS:])
    end = np.median(values[-max(2, len(values) // 10) :])
    levels = (float(first), float(last), float(end))
    if not whole or values.max() > 1 or not all(GOOD.reached(level) for level in levels):
        return ""
    return f"{curve.name} was {first:.3g} of 1 from the first rows on and is {last:.3g}: most prompts are solved."


def risen(signals: Signals) -> str:
    """What excuses an oddity of a policy that gets better all the same."""
    return "The reward rose all the same." if rewarded(signals) else ""


def trend(curve: Curve) -> float:
    """How clearly a curve goes one way: above 0 it gets worse, below 0 better."""
    return float(mann_kendall(curve.bins.median))


def change(curve: Curve) -> float:
    """From the first quarter to the last, in units of a level's uncertainty; above 0 is worse."""
    quarter = max(1, len(curve.bins.median) // 4)
    moved = float(np.median(curve.bins.median[-quarter:]) - np.median(curve.bins.median[:quarter]))
    return moved / max(curve.level_noise, 1e-300)


def tells(curve: Curve) -> bool:
    """Whether there are rewards enough to show a trend."""
    return TREND_ROWS.reached(len(curve))


def moved(curve: Curve) -> bool:
    """Whether a reward went anywhere beyond its noise, up or down."""
    return not STILL.reached(abs(trend(curve))) or not MOVED.reached(abs(change(curve)))


def rose(curve: Curve) -> bool:
    """Whether a reward clearly went up from its first quarter to its last."""
    return tells(curve) and TREND.reached(-trend(curve)) and LEVELS.reached(-change(curve))


def rises(curve: Curve) -> bool:
    """Whether few rewards already go up more than chance would have it."""
    return RISING.reached(-trend(curve))


def rivals(signals: Signals) -> str:
    """Of agents that play against each other one loses what the other gains: that is no fault of the training."""
    main = signals.reward
    if main is None:
        return ""
    words, partial = set(tokens_of(main.name)), bool(main.series.meaning.part)
    others = (one for one in usable(signals.run, "reward") if bool(one.meaning.part) == partial)
    for one in others:
        apart = words ^ set(tokens_of(one.name))
        alike = one.meaning.split == main.series.meaning.split and len(one) >= len(main) // 2
        if alike and apart and not apart & (OWN_WORDS | STATISTICS) and learned(Curve(one, -1.0)):
            return f"{one.name}, of another agent, rose meanwhile."
    return ""


def _finite(series: Series) -> np.ndarray:
    return series.values[np.isfinite(series.values)]
