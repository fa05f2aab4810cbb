"""A series seen as an objective: lower is better, NaN set aside, summarised in at most a few dozen bins.

Everything that asks "how far, how fast, how noisy" works on the bins, so a run of ten million points costs the same as
one of a thousand, and every quantity is relative to the run's own noise or own progress.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from traindx.run import Floats, Series
from traindx.signals.stats import mad_sigma, mann_kendall, noise_sigma, resolution, rolling_median, theil_sen

MAX_BINS = 60
HUGE = 1e300  # MLflow stores Inf as the largest double; sums of such values overflow
MANY_RESULTS = 50  # nobody prints the errors of that many models
VISIBLE = 0.03  # of a number: two that differ by more are two different numbers to a reader
END_SHARE = 0.1  # 'now' and 'best' are medians over a tenth of the run, so that they compare like with like


@dataclass(frozen=True)
class Bins:
    """Equal-count pieces of a curve: middle step, median and robust spread of each."""

    x: Floats
    first: Floats
    last: Floats
    median: Floats
    low: Floats
    high: Floats
    spread: Floats
    count: int


def counted(value: float) -> str:
    """A step or an epoch in a sentence: 412, 9.5, 1,255,088."""
    if not value.is_integer():
        return f"{value:.4g}" if value < 1e4 else f"{value:,.0f}"
    return f"{value:,.0f}" if value >= 1e4 else f"{value:.0f}"


class Curve:
    """`sign` turns the series so that lower is better: +1 for losses, -1 for scores and rewards."""

    def __init__(self, series: Series, sign: float = 1.0) -> None:
        self.series = series
        self.sign = sign
        finite = np.abs(series.values) < HUGE  # NaN compares false too
        self.x: Floats = series.steps[finite]
        self.y: Floats = series.values[finite] * sign

    def __len__(self) -> int:
        return len(self.y)

    @property
    def name(self) -> str:
        return self.series.name

    @property
    def uncounted(self) -> bool:
        """Scores, or a few errors, without a counter beside them: they may be results of several folds or models."""
        kind = self.series.meaning.kind
        return self.series.axis == "row" and (kind == "score" or (kind == "error" and len(self) < MANY_RESULTS))

    def logged(self, value: float) -> float:
        """A value of this curve as the log has it (scores and rewards turned back)."""
        return value * self.sign + 0.0  # no minus before a zero

    def at(self, step: float) -> str:
        """A place on this curve in words: 'step 400', 'epoch 6', 'row 12'."""
        return f"{self.series.axis} {counted(step)}"

    @property
    def constant(self) -> bool:
        """Whether it has one value in all rows."""
        return len(self.y) > 0 and float(np.ptp(self.y)) == 0

    @cached_property
    def bins(self) -> Bins:
        count = len(self.y)
        number = min(count, MAX_BINS)
        edges = np.linspace(0, count, number + 1).astype(int)
        spans = [(int(a), int(b)) for a, b in pairwise(edges) if b > a]
        pieces = [self.y[a:b] for a, b in spans]
        return Bins(
            x=np.array([self.x[(a + b - 1) // 2] for a, b in spans]),
            first=self.x[[a for a, _ in spans]], last=self.x[[b - 1 for _, b in spans]],
            median=np.array([np.median(piece) for piece in pieces]),
            low=np.array([piece.min() for piece in pieces]), high=np.array([piece.max() for piece in pieces]),
            spread=np.array([mad_sigma(piece) for piece in pieces]), count=max(1, count // max(1, number)),
        )  # fmt: skip

    @cached_property
    def noise(self) -> float:
        """Point-to-point noise of the raw series: the median over stretches, so that one wild phase does not set it."""
        count = len(self.y)
        if count < 4:
            return 0.0
        pieces = np.array_split(self.y[-200_000:], min(20, max(1, min(count, 200_000) // 50)))
        return float(max(np.median([noise_sigma(piece) for piece in pieces]), resolution(self.y) / 2))

    @property
    def bin_noise(self) -> float:
        """How uncertain a bin's median is: the raw noise over the number of independent values in a bin."""
        return 1.2533 * self.noise * self.correlation / float(np.sqrt(self.bins.count))

    @cached_property
    def correlation(self) -> float:
        """How much averages scatter more than independent noise would make them: neighbouring values resemble each
        other where losses are running means or batches overlap. 1 for independent noise."""
        width = self.bins.count
        if width < 4:
            return 1.0
        recent = self.y[-50_000:]
        rest = recent - rolling_median(recent, min(2 * width + 1, 201))
        scale = mad_sigma(rest)
        rest = np.clip(rest, -4 * scale, 4 * scale)
        power = float(np.dot(rest, rest))
        if power <= 0 or self.noise <= 0:
            return 1.0
        likeness = min(0.95, max(0.0, float(np.dot(rest[:-1], rest[1:])) / power))
        return max(1.0, scale / self.noise) * float(np.sqrt((1 + likeness) / (1 - likeness)))

    @cached_property
    def level_noise(self) -> float:
        """How uncertain a bin's median is: from the raw noise and from how bins scatter about their own trend."""
        scatter = noise_sigma(self.bins.median) if len(self.bins.median) >= 6 else 0.0
        return float(max(self.bin_noise, scatter, resolution(self.y) / 4))

    @cached_property
    def _levels(self) -> tuple[Floats, Floats]:
        """Medians over windows of a tenth of the run, half overlapping, and the step where each window ends."""
        count = len(self.y)
        width = max(1, round(count * END_SHARE))
        stops = np.arange(count, width - 1, -max(1, width // 2))[::-1]
        return (
            np.array([np.median(self.y[stop - width : stop]) for stop in stops]),
            np.array([self.x[max(stop - 1 - width // 2, 0)] for stop in stops]),
        )

    @cached_property
    def initial(self) -> float:
        """Where the run began: the median of the first few raw points."""
        few = 1 if len(self) < 10 else 3 if len(self) < 300 else 5
        return float(np.median(self.y[:few])) if len(self.y) else float("nan")

    @property
    def now(self) -> float:
        """The level over the last tenth."""
        return float(self._levels[0][-1])

    @property
    def best(self) -> float:
        """The best level held over a tenth of the run."""
        return float(self._levels[0].min())

    @cached_property
    def level_name(self) -> str:
        """The name in a sentence about `best` or `now`: they are medians, and where single values, which the picture of
        the curve names, lie visibly apart from them, the sentence says so."""
        if not len(self):
            return self.name
        pairs = ((float(self.y.min()), self.best), (float(self.y[-1]), self.now))
        return f"smoothed {self.name}" if any(abs(a - b) > VISIBLE * abs(b) for a, b in pairs) else self.name

    @property
    def lowest_at(self) -> float:
        """Where the best single value is, as the picture of the curve marks it."""
        return float(self.x[int(np.argmin(self.y))])

    @property
    def best_at(self) -> float:
        return float(self._levels[1][int(np.argmin(self._levels[0]))])

    @property
    def top(self) -> float:
        """Where the descent began: the initial value, or the worst early level where the run first climbed."""
        early = self.bins.median[: max(1, len(self.bins.median) // 5)]
        return float(max(self.initial, early.max()))

    @property
    def progress(self) -> float:
        """How far the best level is below the beginning; negative where the run never got better."""
        return self.initial - self.best

    @property
    def reduction(self) -> float:
        """Progress as a share of the initial magnitude: 0.9 is a loss that fell to a tenth."""
        return self.progress / abs(self.initial) if self.initial else 0.0

    @property
    def rise(self) -> float:
        """How far the run now stands above its best level."""
        return self.now - self.best

    def tail(self, share: float) -> tuple[Floats, Floats]:
        """The bins of the last `share` of the run: steps and medians."""
        keep = max(2, int(np.ceil(len(self.bins.median) * share)))
        return self.bins.x[-keep:], self.bins.median[-keep:]

    def tail_trend(self, share: float) -> tuple[float, float]:
        """Over the last `share`: the fitted change from its beginning to its end, and the trend's z score."""
        x, y = self.tail(share)
        return theil_sen(x, y) * float(x[-1] - x[0]), mann_kendall(y)

    def level_at(self, step: float) -> float:
        """The binned level at a step."""
        return float(np.interp(step, self.bins.x, self.bins.median))

    def reached(self, share: float) -> float:
        """The first step at which this share of the whole progress was made."""
        goal = self.initial - share * self.progress
        hit = np.flatnonzero(self.bins.median <= goal)
        return float(self.bins.x[hit[0]] if len(hit) else self.x[-1])

    def clock_share(self, step: float) -> float:
        """How far along the run a step is, 0 to 1."""
        span = float(self.x[-1] - self.x[0])
        return (step - float(self.x[0])) / span if span else 1.0
