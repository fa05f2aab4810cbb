"""Robust, scale-free statistics on plain arrays. Nothing here knows what a loss is."""

from __future__ import annotations

import math

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from traindx.run import Floats

MAD_TO_SIGMA = 1.4826  # the MAD of a normal distribution is sigma / 1.4826


def mad_sigma(values: Floats) -> float:
    """Robust standard deviation: scaled median absolute deviation."""
    if not len(values):
        return 0.0
    return float(MAD_TO_SIGMA * np.median(np.abs(values - np.median(values))))


def noise_sigma(values: Floats) -> float:
    """Point-to-point noise without the trend: from second differences, which a straight line does not have."""
    if len(values) < 4:
        return 0.0
    second = np.diff(values, n=2)
    return float(MAD_TO_SIGMA * np.median(np.abs(second)) / math.sqrt(6.0))


def resolution(values: Floats) -> float:
    """The smallest step between neighbouring values: what rounding in the log leaves."""
    gaps = np.abs(np.diff(values[:5000]))
    gaps = gaps[gaps > 0]
    return float(gaps.min()) if len(gaps) else 0.0


def rolling_median(values: Floats, width: int) -> Floats:
    """Centred rolling median of odd width, edges mirrored."""
    width = max(1, min(width | 1, (len(values) - 1) | 1))
    if width <= 1 or len(values) < 3:
        return values.copy()
    padded = np.pad(values, width // 2, mode="reflect")
    return np.asarray(np.median(sliding_window_view(padded, width), axis=1), dtype=np.float64)


def rank_sum(some: Floats, others: Floats) -> float:
    """By how many standard deviations the ranks of some values lie above those of others (Wilcoxon's two-sample
    test)."""
    few, many = len(some), len(others)
    if not few or not many:
        return 0.0
    order = np.sort(others)
    below = (np.searchsorted(order, some, "left") + np.searchsorted(order, some, "right")) / 2
    spread = np.sqrt(few * many * (few + many + 1) / 12)
    return float((below.sum() - few * many / 2) / spread)


def mann_kendall(values: Floats) -> float:
    """The z score of a monotone trend (positive: rising), ties allowed, for up to a few hundred values."""
    count = len(values)
    if count < 4:
        return 0.0
    signs = np.sign(values[None, :] - values[:, None])
    total = float(np.triu(signs, 1).sum())
    _, ties = np.unique(values, return_counts=True)
    variance = count * (count - 1) * (2 * count + 5) - float((ties * (ties - 1) * (2 * ties + 5)).sum())
    if variance <= 0 or total == 0:
        return 0.0
    return (total - math.copysign(1.0, total)) / math.sqrt(variance / 18.0)


def theil_sen(x: Floats, y: Floats) -> float:
    """The median slope over all pairs, for up to a few hundred values."""
    if len(x) < 2:
        return 0.0
    first, second = np.triu_indices(len(x), 1)
    run = x[second] - x[first]
    keep = run > 0
    return float(np.median((y[second] - y[first])[keep] / run[keep])) if keep.any() else 0.0


def swings(values: Floats, amplitude: float) -> list[int]:
    """Turning points of a zigzag whose legs are at least `amplitude` high: the indices where it turns."""
    turns: list[int] = []
    if len(values) < 3 or amplitude <= 0:
        return turns
    low = high = 0
    direction = 0
    for index in range(1, len(values)):
        value = values[index]
        if value > values[high]:
            high = index
        if value < values[low]:
            low = index
        if direction >= 0 and values[high] - value >= amplitude:
            turns.append(high)
            direction, low = -1, index
            high = index
        elif direction <= 0 and value - values[low] >= amplitude:
            turns.append(low)
            direction, high = 1, index
            low = index
    return turns


def change_points(values: Floats, penalty: float = 3.0, most: int = 10) -> list[int]:
    """Where the level of a noisy series shifts: binary segmentation on the squared error with a penalty of
    `penalty`·sigma²·ln n for each cut. For a few hundred values (bin the series first)."""
    sigma = max(noise_sigma(values), resolution(values) / 2, 1e-300)
    cost = penalty * sigma**2 * math.log(max(len(values), 2)) * 2
    cuts: list[int] = []
    pending = [(0, len(values))]
    while pending and len(cuts) < most:
        low, high = pending.pop()
        place, gain = _best_cut(values[low:high])
        if gain > cost:
            cuts.append(low + place)
            pending += [(low, low + place), (low + place, high)]
    return sorted(cuts)


def _best_cut(values: Floats) -> tuple[int, float]:
    count = len(values)
    if count < 4:
        return 0, 0.0
    left = np.cumsum(values)[1:-2]
    sizes = np.arange(2, count - 1)
    total = values.sum()
    gain = left**2 / sizes + (total - left) ** 2 / (count - sizes) - total**2 / count
    best = int(np.argmax(gain))
    return best + 2, float(gain[best])
