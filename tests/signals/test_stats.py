"""The statistics against independent slow computations."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from traindx.signals.stats import (
    change_points,
    mad_sigma,
    mann_kendall,
    noise_sigma,
    rank_sum,
    rolling_median,
    swings,
    theil_sen,
)

values = st.lists(st.floats(-1e3, 1e3, allow_nan=False), min_size=4, max_size=30)


@given(values)
def test_mann_kendall_counts_pairs(numbers: list[float]) -> None:
    total = sum((b > a) - (b < a) for a, b in combinations(numbers, 2))
    count = len(numbers)
    ties = [numbers.count(v) for v in set(numbers)]
    variance = (count * (count - 1) * (2 * count + 5) - sum(t * (t - 1) * (2 * t + 5) for t in ties)) / 18
    expected = 0.0 if total == 0 or variance <= 0 else (total - math.copysign(1, total)) / math.sqrt(variance)
    assert mann_kendall(np.array(numbers)) == pytest.approx(expected)


@given(values)
def test_theil_sen_is_the_median_of_all_slopes(numbers: list[float]) -> None:
    x = np.arange(len(numbers), dtype=float)
    slopes = [(numbers[j] - numbers[i]) / (j - i) for i, j in combinations(range(len(numbers)), 2)]
    assert theil_sen(x, np.array(numbers)) == pytest.approx(float(np.median(slopes)), abs=1e-9)


@given(values, st.sampled_from([3, 5, 7]))
def test_rolling_median_in_the_middle(numbers: list[float], width: int) -> None:
    smooth = rolling_median(np.array(numbers), width)
    for index in range(width // 2, len(numbers) - width // 2):
        if len(numbers) >= width:
            window = sorted(numbers[index - width // 2 : index + width // 2 + 1])
            assert smooth[index] == pytest.approx(window[width // 2])


def test_noise_is_found_under_any_straight_trend() -> None:
    random = np.random.default_rng(0)
    for slope in (0.0, 5.0, -100.0):
        series = slope * np.arange(5000) + 2.0 * random.standard_normal(5000)
        assert noise_sigma(series) == pytest.approx(2.0, rel=0.1)


def test_mad_sigma_ignores_outliers() -> None:
    series = np.random.default_rng(0).standard_normal(2000)
    series[:100] = 1e9
    assert mad_sigma(series) == pytest.approx(1.0, rel=0.15)


def test_change_points_are_found_where_the_level_shifts() -> None:
    series = np.concatenate([np.zeros(40), np.full(40, 5.0), np.full(40, 2.0)])
    series += 0.3 * np.random.default_rng(1).standard_normal(120)
    found = change_points(series)
    assert len(found) == 2
    assert abs(found[0] - 40) <= 1
    assert abs(found[1] - 80) <= 1
    assert change_points(0.3 * np.random.default_rng(2).standard_normal(200)) == []


def test_swings_count_only_large_legs() -> None:
    wave = np.sin(np.linspace(0, 6 * np.pi, 300))
    assert len(swings(wave, 1.5)) == 5
    assert swings(0.01 * wave, 1.5) == []


@given(st.lists(st.integers(0, 20), min_size=1, max_size=12), st.lists(st.integers(0, 20), min_size=1, max_size=12))
def test_rank_sum_counts_who_is_above_whom(some: list[int], others: list[int]) -> None:
    above = sum((one > other) + 0.5 * (one == other) for one in some for other in others)
    pairs = len(some) * len(others)
    expected = (above - pairs / 2) / math.sqrt(pairs * (len(some) + len(others) + 1) / 12)
    assert rank_sum(np.array(some, float), np.array(others, float)) == pytest.approx(expected)
