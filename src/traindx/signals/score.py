"""A score seen on its own scale: whether its top is 1 or 100, where it began, is best and ends, as shares of that
top. Everything that asks "how good is it, and how much of what it lacked did it gain" asks here."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from traindx.signals.curve import Curve
from traindx.thresholds import Threshold

FRACTION = Threshold(
    1.5,
    "largest value of a score written as a fraction",
    "a fraction has its top at 1; rounding and label smoothing overshoot by less than half",
    side="below",
)
AT_BEST = Threshold(
    0.01, "of the best score lost since", "what the last printed digit of an accuracy leaves", side="below"
)
LATE = Threshold(0.8, "of the run", "the last fifth: best among the latest evaluations")


def top_of(values: object) -> float:
    """1 or 100: the top of a score with these values. Judged by the largest one, since 0.9 may be 0.9 %."""
    finite = np.asarray(values, dtype=np.float64)
    finite = finite[np.isfinite(finite)]
    return 1.0 if not len(finite) or FRACTION.reached(float(finite.max())) else 100.0


@dataclass(frozen=True)
class Score:
    """A curve of a score, higher is better, as shares of its top; `curve` has the values as they were logged."""

    curve: Curve

    @cached_property
    def top(self) -> float:
        return top_of(self.curve.series.values)

    @property
    def first(self) -> float:
        return self.curve.logged(float(self.curve.y[0])) / self.top

    @property
    def initial(self) -> float:
        return self.curve.logged(self.curve.initial) / self.top

    @property
    def now(self) -> float:
        return self.curve.logged(self.curve.now) / self.top

    @property
    def best(self) -> float:
        return self.curve.logged(self.curve.best) / self.top

    @property
    def bounded(self) -> bool:
        """Whether the top is one: word error rates above 100 and rewards have none."""
        return self.curve.sign < 0 and 0 <= self.first <= 1 and 0 <= self.now <= 1

    @property
    def gained(self) -> float:
        """The share of what it lacked at first that it has gained; 0 where its top is unknown."""
        return (self.now - self.first) / (1 - self.first) if self.bounded and self.first < 1 else 0.0

    def above_chance(self, classes: int) -> float:
        """The best value as a share of what lies above guessing among so many classes."""
        chance = 1 / classes
        return (self.best - chance) / (1 - chance)

    @property
    def at_its_best(self) -> bool:
        """Whether it ends at its best, or was best among the latest evaluations."""
        curve = self.curve
        lost = curve.rise / max(abs(curve.best), 1e-12)
        return AT_BEST.reached(lost) or LATE.reached(curve.clock_share(curve.best_at))
