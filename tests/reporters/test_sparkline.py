"""Braille curves: shape, labels, marks, and any odd data."""

from __future__ import annotations

import math

import pytest

from traindx.diagnosis import Curve
from traindx.reporters.sparkline import NOT_FINITE, caption, is_log, sparkline


def test_falling_curve_goes_from_top_left_to_bottom_right() -> None:
    lines = sparkline(range(20), [20.0 - i for i in range(20)], columns=10)
    assert len(lines) == 3
    assert lines[0].startswith("20 ┤")
    assert lines[-1].startswith(" 1 ┤")
    top, bottom = lines[0].split("┤")[1], lines[-1].split("┤")[1]
    assert top.strip() == top.rstrip()
    assert bottom.strip() == bottom.lstrip()


def test_every_column_of_a_curve_is_drawn() -> None:
    lines = sparkline([0.0, 1.0], [0.0, 5.0], columns=12, rows=2)
    cells = [line.split("┤")[1] for line in lines]
    assert all(any(row[column] != " " for row in cells) for column in range(12))


def test_nan_is_marked_where_it_is() -> None:
    values = [1.0] * 5 + [math.nan] * 5
    last = sparkline(range(10), [*values[:4], 2.0, *values[5:]], columns=10)[-1].split("┤")[1]
    assert NOT_FINITE in last[5:]
    assert NOT_FINITE not in last[:4]


def test_labels_tell_close_values_apart() -> None:
    lines = sparkline(range(3), [2.3031, 2.3034, 2.3033], columns=10)
    assert lines[0].split(" ")[0] != lines[-1].split(" ")[0]


@pytest.mark.parametrize(
    ("steps", "values"),
    [([0.0], [1.0]), ([3.0, 3.0], [1.0, 2.0]), ([0, 1], [5.0, 5.0]), ([0, 1], [-1e308, 1e308]),
     ([0, 1], [1e-300, 1e300]),
     ([0, 1, 2], [0.0, 1.0, 1e9])],
)  # fmt: skip
def test_odd_data_is_drawn(steps: list[float], values: list[float]) -> None:
    assert len(sparkline(steps, values, columns=8)) == 3


def test_nothing_finite_draws_nothing_and_says_so() -> None:
    curve = Curve("loss", (0.0, 1.0), (math.nan, math.inf))
    assert sparkline(curve.steps, curve.values, columns=8) == []
    assert "not one finite value" in caption(curve, "step")


def test_scale_follows_the_range() -> None:
    assert is_log([0.01, 5.0])
    assert not is_log([1.0, 2.0])
    assert not is_log([-1.0, 100.0])


def test_caption_knows_which_way_is_better() -> None:
    steps = (1.0, 2.0, 3.0)
    assert "0.9 at step 2 (best), 0.7 now" in caption(Curve("val_accuracy", steps, (0.5, 0.9, 0.7), goal="max"), "step")
    assert "0.5 at epoch 1 (best), 0.7 now" in caption(Curve("val_loss", steps, (0.5, 0.9, 0.7)), "epoch")
    assert "NaN now (✕ from step 3)" in caption(Curve("loss", steps, (0.5, 0.9, math.nan)), "step")
