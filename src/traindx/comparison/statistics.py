"""Ranks, permutation tests and intervals on plain arrays. Nothing here knows what a run is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

import numpy as np

from traindx.run import Floats

PERMUTATIONS = 1999
EXACT = 5040  # up to this many arrangements every one is looked at
_BLOCK = 2_000_000  # numbers permuted at a time, which bounds the memory
# two-sided 95 % points of Student's t for 1 … 30 degrees of freedom (any table); beyond, the normal's
_T95 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
        2.110,
        2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042)  # fmt: skip


def t95(freedom: float) -> float:
    """The two-sided 95 % point; a fractional number of degrees is rounded down, which widens."""
    if freedom < 1:
        return _T95[0]
    return _T95[int(freedom) - 1] if freedom < len(_T95) + 1 else 1.96


def ranks(values: Floats) -> Floats:
    """Ranks from 1, ties sharing the mean of theirs."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return np.asarray((ends - (counts - 1) / 2.0)[inverse.ravel()], dtype=np.float64)


def mean_interval(values: Sequence[float]) -> tuple[float, float]:
    """The mean and the half-width of its 95 % interval (Student's t); NaN for a single value."""
    array = np.asarray(values, dtype=np.float64)
    mean = float(array.mean())
    if len(array) < 2:
        return mean, math.nan
    return mean, t95(len(array) - 1) * float(array.std(ddof=1)) / math.sqrt(len(array))


def welch_interval(before: Sequence[float], after: Sequence[float]) -> tuple[float, float]:
    """The difference of two means (after − before) and the half-width of its 95 % interval; each needs two values."""
    one, two = np.asarray(before, dtype=np.float64), np.asarray(after, dtype=np.float64)
    variances = (float(one.var(ddof=1)) / len(one), float(two.var(ddof=1)) / len(two))
    total = sum(variances)
    if total <= 0:
        return float(two.mean() - one.mean()), 0.0
    freedom = total**2 / (variances[0] ** 2 / (len(one) - 1) + variances[1] ** 2 / (len(two) - 1))
    return float(two.mean() - one.mean()), t95(freedom) * math.sqrt(total)


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's correction for having asked several questions: adjusted p-values in the same order."""
    order = np.argsort(p_values)
    adjusted = [1.0] * len(p_values)
    running = 0.0
    for place, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - place) * p_values[int(index)]))
        adjusted[int(index)] = running
    return adjusted


@dataclass(frozen=True, slots=True)
class Tested:
    """The share of what is left to explain that a setting explains, its p-value, and the least p these data could
    give."""

    share: float
    p: float
    least_p: float


def explained_within(x: Floats, y: Floats, strata: Sequence[Sequence[int]], seed: int = 0) -> Tested:
    """How far the columns of `x` explain `y` among rows that agree in everything else (the strata): y is permuted
    inside each stratum, so that whatever else differs between strata can neither help nor harm."""
    rows = [np.asarray(stratum, dtype=int) for stratum in strata]
    order = np.concatenate(rows)
    bounds = np.cumsum([0, *(len(part) for part in rows)])
    features, values = x[order].copy(), y[order].copy()
    for low, high in pairwise(bounds):
        features[low:high] -= features[low:high].mean(axis=0)
        values[low:high] -= values[low:high].mean()
    pieces = [(int(low), int(high)) for low, high in pairwise(bounds)]
    return _permuted(features, values, pieces, seed)


def explained_given(x: Floats, others: Floats, y: Floats, seed: int = 0) -> Tested:
    """How far `x` explains what the `others` leave of `y` (Freedman and Lane): for settings that were drawn at
    random."""
    full = np.column_stack([np.ones(len(y)), others])
    basis = _basis(full)
    features = x - basis @ (basis.T @ x)
    values = y - basis @ (basis.T @ y)
    return _permuted(features, values, [(0, len(y))], seed)


def f_test_within(x: Floats, y: Floats, strata: Sequence[Sequence[int]]) -> float | None:
    """The p-value of the same question by the F test, which takes the scatter between repetitions for normal: it can
    answer where there are too few arrangements to permute. None where nothing is repeated."""
    rows = [np.asarray(stratum, dtype=int) for stratum in strata]
    features = np.concatenate([x[part] - x[part].mean(axis=0) for part in rows])
    values = np.concatenate([y[part] - y[part].mean() for part in rows])
    basis = _basis(features)
    explained = float(np.sum((basis.T @ values) ** 2))
    left = max(float(values @ values) - explained, 0.0)
    freedom = len(values) - len(rows) - basis.shape[1]
    if freedom < 2 or basis.shape[1] == 0 or explained + left <= 0:
        return None
    if left <= 1e-12 * explained:
        return 0.0
    ratio = (explained / basis.shape[1]) / (left / freedom)
    return _incomplete_beta(freedom / (freedom + basis.shape[1] * ratio), freedom / 2, basis.shape[1] / 2)


def _incomplete_beta(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function by its continued fraction (Lentz)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - _incomplete_beta(1 - x, b, a)
    front = math.exp(a * math.log(x) + b * math.log(1 - x) + math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)) / a
    c = 1.0
    d = value = 1 / (1 - (a + b) * x / (a + 1))
    for m in range(1, 300):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d, c = 1 / (1 + term * d), 1 + term / c
            value *= c * d
        if abs(c * d - 1) < 1e-12:
            break
    return front * value


def _permuted(features: Floats, values: Floats, pieces: Sequence[tuple[int, int]], seed: int) -> Tested:
    basis = _basis(features)
    power = float(values @ values)
    if basis.shape[1] == 0 or power <= 1e-12:
        return Tested(0.0, 1.0, 1.0)
    seen = float(np.sum((basis.T @ values) ** 2)) / power
    total = math.prod(math.factorial(min(high - low, 12)) for low, high in pieces)
    if total <= EXACT:
        shuffled = _every_arrangement(values, pieces)
        reached = [float(np.sum((basis.T @ one) ** 2)) / power for one in shuffled]
        alike = sum(value >= seen * (1 - 1e-9) for value in reached)
        best = max(reached)
        least = sum(value >= best * (1 - 1e-9) for value in reached) / len(reached)
        return Tested(seen, alike / len(reached), least)
    random = np.random.default_rng(seed)
    alike, done = 0, 0
    while done < PERMUTATIONS:
        many = min(PERMUTATIONS - done, max(1, _BLOCK // len(values)))
        block = np.repeat(values[None, :], many, axis=0)
        for low, high in pieces:
            block[:, low:high] = random.permuted(block[:, low:high], axis=1)
        alike += int((np.sum((block @ basis) ** 2, axis=1) / power >= seen * (1 - 1e-9)).sum())
        done += many
    return Tested(seen, (alike + 1) / (PERMUTATIONS + 1), 1 / (PERMUTATIONS + 1))


def _every_arrangement(values: Floats, pieces: Sequence[tuple[int, int]]) -> list[Floats]:
    arrangements = [values]
    for low, high in pieces:
        arrangements = [
            np.concatenate([one[:low], np.array(order), one[high:]])
            for one in arrangements
            for order in permutations(one[low:high])
        ]
    return arrangements


def _basis(columns: Floats) -> Floats:
    """An orthonormal basis of the columns' span; columns that add nothing are dropped."""
    if columns.size == 0:
        return np.zeros((len(columns), 0))
    left, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    keep = sizes > (1e-9 * sizes[0] if sizes[0] > 0 else math.inf)
    return np.asarray(left[:, keep], dtype=np.float64)
