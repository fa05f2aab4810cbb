"""Numbers, steps and names as every format writes them."""

from __future__ import annotations

import math

import pytest

from traindx.reporters.layout import distinguished
from traindx.reporters.wording import amount, apart, clean, clean_lines, count, number, percent, span


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.6134, "0.613"), (7.9, "7.9"), (12400.0, "12400"), (3.1e-5, "3.1e-5"), (0.0, "0"), (-2.5e9, "-2.5e9"),
     (math.nan, "NaN"), (-math.inf, "-Inf"), (100.0, "100"), (0.001, "0.001")],
)  # fmt: skip
def test_numbers(value: float, text: str) -> None:
    assert number(value) == text


def test_numbers_told_apart() -> None:
    assert apart(2.30312, 2.30345) == ("2.3031", "2.3035")
    assert apart(1.0, 1.0) == ("1", "1")


def test_steps_and_amounts() -> None:
    assert count(140700) == "140,700"
    assert count(0.25) == "0.25"
    assert amount(1, "step") == "1 step"
    assert span((97, 97)) == "step 97"
    assert span((97, 412), "epoch") == "epochs 97–412"
    assert span(None) == ""


def test_confidence_is_never_certain() -> None:
    assert [percent(value) for value in (0.0, 0.82, 1.0)] == ["<1 %", "82 %", ">99 %"]


@pytest.mark.parametrize(
    ("raw", "shown"),
    [("\x1b[31mloss\x1b[0m", "loss"), ("a\nb\tc", "a b c"), ("\x1b]0;title\x07x", "x"), ("a\x00b", "a�b"),
     ("\u202ecba", "�cba"), ("损失", "损失"), ("a\udc80", "a�"), ("a\u00a0b", "a b"), ("\x1bc", "c")],
)  # fmt: skip
def test_names_are_defused(raw: str, shown: str) -> None:
    assert clean(raw) == shown


def test_code_keeps_its_lines() -> None:
    assert clean_lines("if x:\n\ty = 1\x07 \n") == ["if x:", "    y = 1�", ""]


def test_long_names_are_told_apart_by_what_differs() -> None:
    names = [f"experiment_with_a_long_name_lr_{rate}_wd_0.1_seed_1" for rate in ("0.001", "0.010")]
    shown = distinguished(names, 18)
    assert [shown[name] for name in names] == ["…lr_0.001_…", "…lr_0.010_…"]
    assert distinguished(["a.csv", "b.csv"], 18) == {"a.csv": "a.csv", "b.csv": "b.csv"}
    assert len(distinguished(["x" * 40], 18)["x" * 40]) == 18
