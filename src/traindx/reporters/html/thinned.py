"""A series as the page's script takes it: whole where it is short, else lowest, middle and highest value of each
stretch."""

from __future__ import annotations

from typing import Any

import numpy as np

from traindx.reporters.figure.thin import marks
from traindx.run import Floats

DIGITS = 6
MOST_MARKS = 200  # NaN and Inf are marked in as many places of the axis at most


def thinned(
    steps: Floats, values: Floats, columns: int, first: float | None = None, last: float | None = None
) -> dict[str, Any]:
    """At most `columns` stretches of equal length between `first` and `last` (the whole series unless given). No spike
    is lost: a stretch tells its lowest and highest value, and `bad` tells where the log has NaN or Inf."""
    if first is not None and last is not None:
        low = max(int(np.searchsorted(steps, first)) - 1, 0)
        high = min(int(np.searchsorted(steps, last, side="right")) + 1, len(steps))
        steps, values = steps[low:high], values[low:high]
    bad = marks(steps, values, MOST_MARKS)
    if len(values) <= 2 * columns:
        return {"x": plain(steps), "y": plain(values), "bad": plain(bad)}
    starts = _starts(steps, columns)
    known = np.isfinite(values)
    lowest = np.minimum.reduceat(np.where(known, values, np.inf), starts)
    highest = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    amount = np.add.reduceat(known, starts)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        middle = np.add.reduceat(np.where(known, values, 0.0), starts) / amount
        # a sum can overflow where no single value does
        middle = np.where(np.isfinite(middle), middle, lowest / 2 + highest / 2)
    return {"x": plain(steps[starts]), "y": plain(middle), "lo": plain(lowest), "hi": plain(highest), "bad": plain(bad)}


def _starts(steps: Floats, columns: int) -> Any:
    first, last = float(steps[0]), float(steps[-1])
    if not last > first:
        return np.arange(0, len(steps), max(len(steps) // columns, 1))
    return np.unique(np.searchsorted(steps, np.linspace(first, last, columns + 1)[:-1]))


def plain(values: Floats) -> list[float | None]:
    """As JSON takes them: six significant digits, null for what is no number."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        power = np.floor(np.log10(np.abs(values)))
        scale = 10.0 ** np.clip(DIGITS - 1 - power, -300, 300)
        short = np.where((values == 0) | ~np.isfinite(scale), values, np.round(values * scale) / scale)
    short = np.where(np.isfinite(short), short, values)
    return [None if value != value or value in (np.inf, -np.inf) else value for value in short.tolist()]
