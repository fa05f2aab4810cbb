"""How a curve moves: falling, resting, rising or unfinished, how far and with what uncertainty. The symptoms of
progress (flat, plateau, slow, still improving, divergence, underfitting) ask here and share its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from traindx.signals.curve import Curve
from traindx.signals.stats import rank_sum, rolling_median, theil_sen
from traindx.thresholds import Threshold

State = Literal["falling", "resting", "rising", "unfinished"]

MOVED = Threshold(
    0.035,
    "of the first value gained",
    "0 of 25 labelled healthy logs of supervised trainings gained less, 8 of 10 that learnt nothing did",
)
SURE = Threshold(4.0, "times the uncertainty of a level", "chosen by hand: four standard errors of a level")
TREND = Threshold(-3.0, "z of a falling trend", "one curve of pure noise in 700 falls so (Mann-Kendall)", side="below")
SLIGHT_TREND = Threshold(
    -2.0, "z of a falling trend", "one curve of pure noise in 40 falls so (Mann-Kendall)", side="below"
)
RANKED = 20  # values from which ranks tell a movement
FIRST = 5  # values, and a twentieth of them
RANKS = Threshold(2.0, "standard deviations", "one curve of pure noise in 40 begins so high (rank sums)")
LEFT = Threshold(0.03, "of the whole progress still made", "chosen by hand; not fitted", side="below")
SPREAD = 2.5  # uncertainties of a level: what neighbouring levels differ by through noise
TAIL = 0.25  # of the run: how it ended
LATE = Threshold(0.06, "of the progress made in the last quarter", "an even descent makes a quarter of it there")


@dataclass(frozen=True)
class Progress:
    """The course of one curve (lower is better)."""

    curve: Curve

    @property
    def gained(self) -> float:
        """From the first values to the best level."""
        return self.curve.progress

    @property
    def share(self) -> float:
        """The same as a share of the first value."""
        return self.curve.reduction

    @cached_property
    def certainty(self) -> float:
        """The same in uncertainties of a level."""
        return self.gained / max(self.curve.level_noise, 1e-300)

    @property
    def moved(self) -> bool:
        """Whether anything was gained beyond noise."""
        return self.gained > 0 and SURE.reached(self.certainty)

    @cached_property
    def trend(self) -> float:
        """z of the trend over the whole curve; negative falls."""
        return self.curve.tail_trend(1.0)[1]

    @cached_property
    def by_ranks(self) -> bool | None:
        """Whether the first values stand above the later ones, or there is a trend, whatever the noise; None where too
        few values are there to tell."""
        values = self.curve.y
        if len(values) < RANKED:
            return None
        starts = {FIRST, max(FIRST, len(values) // 20)}
        moved = any(RANKS.reached(rank_sum(values[:start], values[start:])) for start in starts)
        return moved or SLIGHT_TREND.reached(self.trend)

    @cached_property
    def rest_since(self) -> float:
        """The step after which no progress worth the name was made."""
        curve = self.curve
        y, x = rolling_median(curve.bins.median, 5), curve.bins.x
        slack = max(LEFT.value * self.gained, SPREAD * curve.level_noise)
        ahead = np.minimum.accumulate(y[::-1])[::-1]  # the best still to come
        moving = np.flatnonzero(y - ahead > slack)
        return float(x[0] if not len(moving) else x[min(moving[-1] + 1, len(x) - 1)])

    @cached_property
    def rest(self) -> float:
        """The share of the run since then."""
        return 1 - self.curve.clock_share(self.rest_since)

    @cached_property
    def still_falls(self) -> bool:
        """Whether the last three quarters of that rest fall all the same, slowly but beyond doubt."""
        change, z = self.curve.tail_trend(0.75 * self.rest)
        return TREND.reached(z) and -change > max(0.02 * self.gained, 0.01 * abs(self.curve.now))

    @cached_property
    def late(self) -> float:
        """The share of all progress that the last part made."""
        change, _ = self._tail
        return -change / self.gained if self.gained > 0 else 0.0

    @cached_property
    def _tail(self) -> tuple[float, float]:
        return self.curve.tail_trend(TAIL if len(self.curve.bins.median) >= 16 else 0.5)

    @property
    def unfinished(self) -> bool:
        """Still on its way down when the curve ends, and at its best there."""
        change, z = self._tail
        enough = SLIGHT_TREND.reached(z) or len(self.curve) < 12
        at_best = self.curve.clock_share(self.curve.best_at) > 0.85
        return LATE.reached(self.late) and enough and at_best and -change > 2 * self.curve.level_noise

    @cached_property
    def bend(self) -> float:
        """The slope of the second half by that of the first: an ordinary descent bends early, one by tiny steps does
        not. 0 where the first half does not fall."""
        x, y = self.curve.bins.x, self.curve.bins.median
        half = len(y) // 2
        early, late = theil_sen(x[:half], y[:half]), theil_sen(x[half:], y[half:])
        return late / early if early < 0 else 0.0

    @property
    def lost(self) -> float:
        """How much of what was gained is lost again at the end; infinite where nothing was gained."""
        return self.curve.rise / self.gained if self.gained > 0 else np.inf

    @property
    def state(self) -> State:
        curve = self.curve
        if curve.rise > SPREAD * 2 * curve.level_noise and self.lost > 0.3:
            return "rising"
        if self.unfinished:
            return "unfinished"
        return "resting" if not self.moved or (self.rest > 0.4 and not self.still_falls) else "falling"
