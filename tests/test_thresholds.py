"""Numbers that decide: every one is a threshold with a source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from traindx import symptoms as package
from traindx.symptoms import symptoms, thresholds
from traindx.symptoms.observed import FromMeasurements
from traindx.thresholds import UNFITTED, Threshold, comparisons, fitted

FOLDER = Path(package.__file__).parent
PLAIN = (-1, 0, 1, 2)  # none, one, a pair
JUDGING = sorted(path for path in FOLDER.glob("*.py") if "from traindx.thresholds import" in path.read_text("utf-8"))


def _bare_numbers(tree: ast.AST) -> list[int]:
    """The lines of comparisons with a number that has no name. Comparisons inside `detect` are of curves."""
    curves = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef) and node.name == "detect"]
    excused = {id(node) for function in curves for node in ast.walk(function)}
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare) and id(node) not in excused
        for side in (node.left, *node.comparators)
        if isinstance(side, ast.Constant) and isinstance(side.value, int | float) and side.value not in PLAIN
    ]


@pytest.mark.parametrize("path", JUDGING, ids=lambda path: path.stem)
def test_no_bare_number_decides(path: Path) -> None:
    assert not _bare_numbers(ast.parse(path.read_text("utf-8")))


@pytest.mark.parametrize("identifier", symptoms())
def test_every_threshold_has_a_unit_and_a_source(identifier: str) -> None:
    for name, threshold in thresholds(identifier).items():
        assert threshold.unit, name
        assert threshold.source, name
        assert threshold.source != UNFITTED, f"{name}: run benchmarks/zoo/thresholds.py"
        if threshold.strong is not None:
            beyond = threshold.strong - threshold.value
            assert beyond >= 0 if threshold.side == "above" else beyond <= 0, name


def test_most_symptoms_from_inside_judge_with_thresholds() -> None:
    inside = [one for one in symptoms().values() if isinstance(one.detect, FromMeasurements)]
    assert len(inside) >= 60
    assert sum(bool(thresholds(one.id)) for one in inside) >= 0.7 * len(inside)


def test_reached_and_clarity_follow_the_side() -> None:
    above = Threshold(2.0, "units", "a reference", strong=4.0)
    below = Threshold(0.3, "units", "a reference", strong=0.1, side="below")
    assert [above.reached(value) for value in (1.9, 2.0, 9.0, float("nan"))] == [False, True, True, False]
    assert [below.reached(value) for value in (0.31, 0.3, 0.0, float("nan"))] == [False, True, True, False]
    assert [round(above.clarity(value), 3) for value in (2.0, 3.0, 4.0, 9.0)] == [0.3, 0.65, 1.0, 1.0]
    assert [round(below.clarity(value), 3) for value in (0.3, 0.2, 0.1, 0.0)] == [0.3, 0.65, 1.0, 1.0]


def test_a_threshold_without_a_fit_keeps_its_value_and_says_so() -> None:
    threshold = fitted("no-symptom.nothing", 0.5, unit="units")
    assert (threshold.value, threshold.source) == (0.5, UNFITTED)


def test_comparisons_are_told() -> None:
    threshold = Threshold(2.0, "units", "a reference")
    seen: list[float] = []
    with comparisons(lambda _, measured: seen.append(measured)):
        threshold.reached(1.0)
    threshold.reached(3.0)
    assert seen == [1.0]
