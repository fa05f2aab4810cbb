"""A curve as braille dots: a few rows of terminal text that show its shape, its range and where it is not finite."""

from __future__ import annotations

import math
from collections.abc import Sequence

from traindx.diagnosis import Curve, Diagnosis
from traindx.reporters.wording import apart, clean, count, number

NOT_FINITE = "✕"
LOG_FROM = 30.0  # a range wider than this would hide everything but its top on a linear scale
_BLANK = 0x2800
_DOTS = ((0x01, 0x02, 0x04, 0x40), (0x08, 0x10, 0x20, 0x80))  # [left, right][top … bottom] in Unicode
_ACROSS, _DOWN = 2, 4  # dots in one character


def curves_of(diagnosis: Diagnosis) -> list[Curve]:
    """The curves worth drawing: the objective in any case, the second one when it is more than a single point."""
    first, *others = diagnosis.curves or (None,)
    return [curve for curve in (first, *others[:1]) if curve is not None and (curve is first or len(curve.values) > 1)]


def results_of(diagnosis: Diagnosis) -> list[str]:
    """Best and last of what is not drawn, in words."""
    drawn = curves_of(diagnosis)
    return [result(curve, diagnosis.run.axis) for curve in diagnosis.curves if curve not in drawn]


def is_log(values: Sequence[float]) -> bool:
    """Whether the data's own range asks for a logarithmic scale."""
    finite = [value for value in values if math.isfinite(value)]
    return bool(finite) and min(finite) > 0 and max(finite) / min(finite) > LOG_FROM


def sparkline(
    steps: Sequence[float], values: Sequence[float], *, columns: int, rows: int = 3, margin: int = 0
) -> list[str]:
    """The curve in `rows` lines, labelled with its largest and smallest value on the left, at least
    `margin` wide; empty for no finite value.

    Dots are joined, so that a curve of few points is still a line; ✕ stands where the log has NaN or Inf."""
    labels = _labels(values)
    if labels is None or columns < 1:
        return []
    bottom, top = labels
    cells = _cells(steps, values, columns, rows)
    width = max(label_width(values), margin)
    lines = []
    for row in range(rows):
        if row == 0:
            label, tick = top, "┤"
        elif row == rows - 1 and bottom != top:
            label, tick = bottom, "┤"
        else:
            label, tick = "", "│"
        lines.append(f"{label:>{width}} {tick}{''.join(cells[row])}")
    return lines


def label_width(values: Sequence[float]) -> int:
    """How wide the labels of this curve are."""
    return max((len(label) for label in _labels(values) or ()), default=0)


def _labels(values: Sequence[float]) -> tuple[str, str] | None:
    finite = [value for value in values if math.isfinite(value)]
    return apart(min(finite), max(finite)) if finite else None


def caption(curve: Curve, unit: str) -> str:
    """What stands beside the picture of a curve."""
    return result(curve, unit) + (", log scale" if is_log(curve.values) else "")


def result(curve: Curve, unit: str) -> str:
    """What the curve says in words: its best value with its place, its last one, and what a picture cannot show.
    `unit` is what the run counts; a curve that counts something else says so itself."""
    unit = curve.axis or unit
    finite = [(value, step) for step, value in zip(curve.steps, curve.values, strict=True) if math.isfinite(value)]
    name = clean(curve.name)
    if not finite:
        return f"{name}: not one finite value"
    best, at = (max if curve.goal == "max" else min)(finite, key=lambda pair: pair[0])
    last = curve.values[-1]
    if len(finite) == len(curve.values) > 1 and min(finite)[0] == max(finite)[0]:
        return f"{name}: {number(last)} from first to last"
    if last == best:
        sentence = f"{name}: {number(last)} now, its best"
    else:
        then, now = apart(best, last)
        sentence = f"{name}: {then} at {unit} {count(at)} (best), {now} now"
    if not math.isfinite(last):
        first = next(step for step, value in zip(curve.steps, curve.values, strict=True) if not math.isfinite(value))
        sentence += f" ({NOT_FINITE} from {unit} {count(first)})"
    return sentence


def _cells(steps: Sequence[float], values: Sequence[float], columns: int, rows: int) -> list[list[str]]:
    dots = [[0] * columns for _ in range(rows)]
    places = _across(steps, columns * _ACROSS)
    heights = _down(values, rows * _DOWN)
    previous: tuple[int, int] | None = None
    marked: set[int] = set()
    for place, height in zip(places, heights, strict=True):
        if height is None:
            marked.add(place // _ACROSS)
            previous = None
            continue
        for x, y in _segment(previous, (place, height)):
            dots[y // _DOWN][x // _ACROSS] |= _DOTS[x % _ACROSS][y % _DOWN]
        previous = (place, height)
    cells = [[chr(_BLANK + dot) if dot else " " for dot in line] for line in dots]
    for column in marked:
        cells[-1][column] = NOT_FINITE
    return cells


def _across(steps: Sequence[float], dots: int) -> list[int]:
    first, last = steps[0], steps[-1]
    if last <= first:
        return [0] * len(steps)
    return [min(dots - 1, max(0, round((step - first) / (last - first) * (dots - 1)))) for step in steps]


def _down(values: Sequence[float], dots: int) -> list[int | None]:
    """The height of each value in dots from the top; None where there is no number."""
    logarithmic = is_log(values)
    scaled = [(math.log(value) if logarithmic else value) if math.isfinite(value) else None for value in values]
    finite = [value for value in scaled if value is not None]
    low, high = min(finite), max(finite)
    reach = high - low
    if not reach or not math.isfinite(reach):
        return [None if value is None else dots // 2 for value in scaled]
    return [None if value is None else round((high - value) / reach * (dots - 1)) for value in scaled]


def _segment(start: tuple[int, int] | None, end: tuple[int, int]) -> list[tuple[int, int]]:
    """The dots of a straight line from just after `start` up to and with `end`."""
    if start is None:
        return [end]
    count = max(abs(end[0] - start[0]), abs(end[1] - start[1]), 1)
    return [
        (round(start[0] + (end[0] - start[0]) * part / count), round(start[1] + (end[1] - start[1]) * part / count))
        for part in range(1, count + 1)
    ]
