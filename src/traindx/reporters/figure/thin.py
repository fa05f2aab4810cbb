"""Ten million points on a thousand pixels: what is drawn keeps every spike and costs the same for any length."""

from __future__ import annotations

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from traindx.run import Floats

PIXELS = 1000
SMOOTH_FROM = 100  # with fewer points the raw line is as readable as it gets
SMOOTH_SHARE = 0.03  # the window, as a share of the run
_MEDIANS = 1500


def envelope(steps: Floats, values: Floats, pixels: int = PIXELS) -> tuple[Floats, Floats]:
    """The smallest and the largest value of every pixel column; gaps (NaN) where a column has no finite value."""
    values = np.where(np.isfinite(values), values, np.nan)
    if len(values) <= 4 * pixels:
        return steps, values
    first, last = float(steps[0]), float(steps[-1])
    edges = np.linspace(first, last, pixels + 1)[:-1]
    starts = (
        np.unique(np.searchsorted(steps, edges)) if last > first else np.arange(0, len(steps), len(steps) // pixels)
    )
    known = np.isfinite(values)
    low = np.minimum.reduceat(np.where(known, values, np.inf), starts)
    high = np.maximum.reduceat(np.where(known, values, -np.inf), starts)
    low[~np.isfinite(low)] = np.nan
    high[~np.isfinite(high)] = np.nan
    return np.repeat(steps[starts], 2), np.column_stack([low, high]).ravel()


def smoothed(steps: Floats, values: Floats) -> tuple[Floats, Floats] | None:
    """Running medians, which a single spike does not move; None where there is too little to smooth."""
    known = np.isfinite(values)
    steps, values = steps[known], values[known]
    if len(values) < SMOOTH_FROM:
        return None
    piece = max(1, len(values) // _MEDIANS)
    whole = len(values) // piece * piece
    middles = np.median(values[:whole].reshape(-1, piece), axis=1)
    places = steps[:whole].reshape(-1, piece)[:, piece // 2]
    window = max(3, round(len(middles) * SMOOTH_SHARE)) | 1
    padded = np.pad(middles, window // 2, mode="edge")
    return places, np.median(sliding_window_view(padded, window), axis=1)


def marks(steps: Floats, values: Floats, most: int = 70) -> Floats:
    """Where the log has NaN or Inf, at most one place in each of `most` equal stretches of the axis."""
    places = steps[~np.isfinite(values)]
    reach = float(steps[-1] - steps[0]) if len(steps) else 0.0
    if not len(places) or reach <= 0:
        return places[:1]
    _, firsts = np.unique(((places - steps[0]) / reach * most).astype(int), return_index=True)
    chosen: Floats = places[firsts]
    return chosen
