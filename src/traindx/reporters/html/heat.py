"""Layer by step: gradients, updates, weights and activations of a recording as heat maps."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Kind
from traindx.reporters.html.png import data_uri
from traindx.reporters.html.thinned import plain
from traindx.reporters.wording import clean, number
from traindx.run import Floats, Run, Series

MOST_COLUMNS = 160
MOST_ROWS = 400  # beyond this, neighbouring layers share a row and the largest value is shown
FEWEST_LAYERS = 2
MISSING, BROKEN, ZERO, FIRST = 0, 1, 2, 3  # what a cell can be besides a number; the page's script knows them too
_LEVELS = 65535 - FIRST
_NEAR_ZERO = 1e-300
# from dark blue to yellow, evenly brighter from stop to stop, so that it reads in grey and for all kinds of colour
# vision
_STOPS = np.array(
    [[24, 20, 66], [52, 62, 140], [34, 118, 156], [46, 168, 138], [142, 205, 90], [250, 229, 70]], dtype=float
)
_BROKEN_COLOR, _ZERO_COLOR = (226, 61, 48, 255), (8, 8, 14, 255)


@dataclass(frozen=True)
class Kinds:
    """One map: its title, the series it is made of and what its numbers mean to a reader."""

    title: str
    kind: Kind
    stat: str
    sentence: str
    log: bool = True


MAPS = (
    Kinds("gradient norm", "grad_norm", "", "How much gradient reaches each parameter, input side first; a fade along "
                                            "the depth is a vanishing gradient."),
    Kinds("update / weight", "update_ratio", "", "How far one update moves each parameter, by its size; about 0.001 is "
                                                 "usual."),
    Kinds("weight norm", "weight_norm", "", "The size of each parameter."),
    Kinds("activation spread", "activation", "std", "Standard deviation of what each layer gives; a fade along the "
                                                    "depth loses the signal."),
    Kinds("activation peak", "activation", "max", "The largest value each layer gives."),
    Kinds("dead units", "dead", "", "Share of units of each layer that never became active.", log=False),
    Kinds("saturated units", "saturated", "", "Share of units of each layer at the flat end of their function.",
          log=False),
)  # fmt: skip


@dataclass(frozen=True)
class HeatMap:
    """The numbers of one map, scaled: `codes` are 0 for what was not measured, 1 for NaN or Inf, 2 for zero, then 3 …
    65535."""

    title: str
    sentence: str
    axis: str
    layers: tuple[str, ...]
    steps: Floats
    codes: NDArray[np.uint16]
    low: float
    high: float
    log: bool

    def data(self) -> dict[str, Any]:
        """What the page's script needs to read values off the map."""
        cells = base64.b64encode(np.ascontiguousarray(self.codes, dtype="<u2").tobytes()).decode("ascii")
        return {
            "layers": [clean(name) for name in self.layers], "steps": plain(self.steps), "cells": cells,
            "axis": self.axis,
            "low": self.low, "high": self.high, "log": self.log,
        }  # fmt: skip

    def picture(self) -> str:
        """The map as an image: every browser shows it, script or not."""
        shade = np.where(self.codes >= FIRST, FIRST + (self.codes.astype(int) - FIRST) * 252 // _LEVELS, self.codes)
        return data_uri(shade.astype(np.uint8), palette())

    @property
    def ends(self) -> tuple[str, str]:
        """The numbers at both ends of the colours."""
        return (number(10**self.low), number(10**self.high)) if self.log else (number(self.low), number(self.high))

    def summary(self) -> str:
        """The map in words."""
        rows, columns = self.codes.shape
        text = f"{self.title} of {rows} layers at {columns} {self.axis}s, from {self.ends[0]} to {self.ends[1]}"
        broken = np.argwhere(self.codes == BROKEN)
        if len(broken):
            row, column = broken[np.argmin(broken[:, 1])]
            text += f"; NaN or Inf first at {self.axis} {self.steps[column]:g} in {clean(self.layers[row])}"
        return text


def heat_maps(run: Run) -> list[HeatMap]:
    """Every map that at least two layers of the run have numbers for."""
    found = []
    for kinds in MAPS:
        series = [
            one for one in run.of(kinds.kind)
            if one.meaning.where and len(one) and (not kinds.stat or one.meaning.stat == kinds.stat)
        ]  # fmt: skip
        if kinds.kind in ("grad_norm", "weight_norm"):  # 'signed' means are no sizes
            series = [one for one in series if one.meaning.stat != "signed"]
        if len(series) >= FEWEST_LAYERS:
            found.append(_map(kinds, series, run.axis))
    return found


def _map(kinds: Kinds, series: Sequence[Series], axis: str) -> HeatMap:
    steps, values = _grid(series)
    names = [one.meaning.where if one.name.count("/") != 1 else one.name.partition("/")[2] for one in series]
    if len(names) > MOST_ROWS:
        values, names = _grouped(values, names)
    broken = np.isinf(values)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log10(np.where(values > _NEAR_ZERO, values, np.nan)) if kinds.log else values
    shown = np.where(np.isfinite(shown), shown, np.nan)
    known = ~np.isnan(shown)
    low, high = (float(shown[known].min()), float(shown[known].max())) if known.any() else (0.0, 1.0)
    if not kinds.log:
        low, high = min(low, 0.0), max(high, 1.0)
    reach = (high - low) or 1.0
    codes = np.zeros(values.shape, np.uint16)
    codes[known] = (FIRST + np.round((shown[known] - low) / reach * _LEVELS)).astype(np.uint16)
    codes[broken] = BROKEN
    if kinds.log:
        codes[~known & ~broken & ~np.isnan(values)] = ZERO
    return HeatMap(kinds.title, kinds.sentence, axis, tuple(names), steps, codes, low, low + reach, kinds.log)


def _grid(series: Sequence[Series]) -> tuple[Floats, Floats]:
    """All steps at which any layer was looked at, and the values there: of steps that share a column the largest one,
    with Inf for what is not finite and NaN for what was not measured."""
    steps = np.unique(np.concatenate([one.steps for one in series]))
    columns = min(len(steps), MOST_COLUMNS)
    place = np.arange(len(steps)) * columns // len(steps)
    grid = np.full((len(series), columns), -np.inf)
    shared: tuple[int, NDArray[np.intp]] = (0, np.empty(0, np.intp))
    for row, one in enumerate(series):
        if shared[0] != id(one.steps):  # layers are mostly looked at together
            shared = (id(one.steps), place[np.searchsorted(steps, one.steps)])
        sizes = np.abs(one.values)
        np.maximum.at(grid[row], shared[1], np.where(np.isfinite(sizes), sizes, np.inf))
    grid[grid == -np.inf] = np.nan
    return steps[np.searchsorted(place, np.arange(columns))], grid


def _grouped(values: Floats, names: list[str]) -> tuple[Floats, list[str]]:
    size = -(-len(names) // MOST_ROWS)
    starts = list(range(0, len(names), size))
    merged = np.fmax.reduceat(values, starts, axis=0)
    ends = [min(start + size, len(names)) - 1 for start in starts]
    return merged, [
        f"{names[start]} … {names[end]}" if end > start else names[start]
        for start, end in zip(starts, ends, strict=True)
    ]


def palette() -> NDArray[np.uint8]:
    """Nothing is transparent, NaN red, zero black, then from dark to bright."""
    share = np.linspace(0, len(_STOPS) - 1, 253)
    colors = np.stack([np.interp(share, range(len(_STOPS)), _STOPS[:, channel]) for channel in range(3)], axis=1)
    scale = np.concatenate([colors, np.full((253, 1), 255.0)], axis=1)
    return np.concatenate([[(0, 0, 0, 0)], [_BROKEN_COLOR], [_ZERO_COLOR], scale]).round().astype(np.uint8)


def legend_stops() -> list[str]:
    return [f"rgb({red:.0f},{green:.0f},{blue:.0f})" for red, green, blue in _STOPS]
