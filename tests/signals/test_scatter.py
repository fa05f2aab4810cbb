"""Losses of single samples scatter by their own size: what shows in them, and what does not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from runs import run_of
from traindx.signals import Signals
from traindx.symptoms import flat_from_start, too_short


def signals(levels: np.ndarray, seed: int) -> Signals:
    values = levels * np.random.default_rng(seed).chisquare(1, len(levels))
    return Signals(run_of({"train_loss": values}))


def share(levels: np.ndarray, called: Callable[[Signals], bool]) -> float:
    return sum(called(signals(levels, seed)) for seed in range(40)) / 40


def test_single_samples_of_a_model_that_learns_nothing_are_no_healthy_curve() -> None:
    flat = np.ones(600)
    assert share(flat, lambda run: flat_from_start.detect(run).state == "absent") < 0.1
    assert share(flat, lambda run: too_short.detect(run).state == "present") > 0.8


@pytest.mark.parametrize("learnt_by", [20, 100, 600])
def test_a_level_that_falls_shows_through(learnt_by: int) -> None:
    falling = np.maximum(0.02, 1.0 - np.arange(600) / learnt_by)
    assert share(falling, lambda run: too_short.detect(run).state == "present") < 0.1


def test_single_samples_that_begin_with_a_small_loss_are_not_flat_where_the_level_falls() -> None:
    values = np.maximum(0.1, 1.0 - np.arange(600) / 300) * np.random.default_rng(0).chisquare(1, 600)
    values[:5] = 0.04
    observation = flat_from_start.detect(Signals(run_of({"train_loss": values})))
    assert observation.state == "absent"
