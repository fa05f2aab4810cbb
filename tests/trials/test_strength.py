"""How much of a change is tried next."""

from __future__ import annotations

import pytest

from traindx.trials.plan import on_the_command_line
from traindx.trials.setting import combined
from traindx.trials.strength import at, neighbours, strength


def test_the_strongest_that_was_tried_is_gone_beyond_and_the_middle_of_two_is_tried() -> None:
    assert list(neighbours("lr", -1.0, [-1.0, -2.0])) == [-1.5, -0.5]
    assert list(neighbours("lr", 2.0, [1.0, 2.0])) == [3.0, 1.5]
    assert list(neighbours("lr", -1.5, [-1.0, -1.5, -2.0])) == []  # nothing between that would be worth an arm
    assert list(neighbours("lr", 6.0, [6.0, 5.5])) == []  # far enough


def test_only_a_single_scaled_setting_has_a_strength() -> None:
    assert strength(combined("lr=x0.1")) == pytest.approx(-1.0)
    assert strength(combined("lr=1e-3")) is None
    assert strength(combined("init=default+lr=x0.1")) is None
    assert strength(combined("momentum=0.9")) is None
    assert str(at(combined("lr=x0.1"), -1.5)[0]) == "lr=x0.032"
    assert str(at(combined("lr=x10"), 3.0)[0]) == "lr=x1000"


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--lr", "1.5", "--epochs", "3"], ("--lr 1.5", "--lr 0.15")),
        (["--learning-rate=2e-3"], ("--learning-rate=2e-3", "--learning-rate=0.0002")),
        (["--epochs", "3", "lr"], None),
    ],
)
def test_a_value_from_the_command_is_changed_there(arguments: list[str], expected: tuple[str, str] | None) -> None:
    assert on_the_command_line(combined("lr=x0.1")[0], arguments) == expected
