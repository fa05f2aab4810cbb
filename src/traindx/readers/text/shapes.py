"""The rows of one kind of line, kept as numbers only, in bounded memory.

A log of a billion bytes holds more rows than a diagnosis needs or memory should hold. Past a limit every second row is
dropped, again and again, but never a row where a value stops or starts being finite, nor one far outside its
neighbours: spikes and the first NaN stay.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from traindx.readers.text.plans import Plan, slots
from traindx.run import Floats

Places = NDArray[np.int64]
MAX_CELLS = 5_000_000  # numbers kept of one text log: about 40 MB here, 300 MB once they are series with their steps
_OUTLIER = 10.0  # median absolute deviations from the block's median
_UNITS = ("Y", "M", "D", "h", "m", "s")
_NO_RANK = -1


@dataclass(slots=True, eq=False)
class Block:
    """Rows in file order: `seq` is their place in the file, `values` one line each, `times` and `ranks` where known."""

    seq: Places
    values: Floats
    times: Floats
    ranks: Places

    def take(self, mask: NDArray[np.bool_]) -> Block:
        return Block(self.seq[mask], self.values[mask], self.times[mask], self.ranks[mask])


@dataclass(slots=True, eq=False)
class Shape:
    """All rows of lines with one identity. `trusted` rows come from a dialect and need no further proof."""

    plan: Plan
    dialect: str = ""
    trusted: bool = False
    stride: int = 1
    seen: int = 0  # rows met, kept or not
    blocks: list[Block] = field(default_factory=list)
    loose: list[tuple[int, tuple[float, ...]]] = field(default_factory=list)  # rows of a dialect, not yet a block

    @property
    def width(self) -> int:
        return len(slots(self.plan))

    @property
    def cells(self) -> int:
        return sum(len(block.seq) for block in self.blocks) * (self.width + 3)

    def add(self, block: Block) -> None:
        first = self.seen
        self.seen += len(block.seq)
        if self.stride > 1:
            block = block.take(_kept(block.values, self.stride, first))
        self.blocks.append(block)

    def thin(self) -> None:
        """Drop every second row of what is kept, and of what is to come."""
        self.stride *= 2
        merged = self.merged()
        self.blocks = [merged.take(_kept(merged.values, 2, 0))]

    def merged(self) -> Block:
        """All rows as one block."""
        if self.loose:
            seq = np.array([place for place, _ in self.loose], dtype=np.int64)
            values = np.array([row for _, row in self.loose], dtype=np.float64).reshape(len(seq), -1)
            self.loose = []
            self.add(Block(seq, values, np.full(len(seq), np.nan), np.full(len(seq), _NO_RANK)))
        if len(self.blocks) != 1:
            self.blocks = [
                Block(
                    np.concatenate([block.seq for block in self.blocks] or [np.empty(0, dtype=np.int64)]),
                    np.concatenate([block.values for block in self.blocks] or [np.empty((0, self.width))]),
                    np.concatenate([block.times for block in self.blocks] or [np.empty(0)]),
                    np.concatenate([block.ranks for block in self.blocks] or [np.empty(0, dtype=np.int64)]),
                )
            ]
        return self.blocks[0]


def _kept(values: Floats, stride: int, first: int) -> NDArray[np.bool_]:
    """Every stride-th row counted from `first`, and the rows that must not be lost."""
    count = len(values)
    keep: NDArray[np.bool_] = (np.arange(first, first + count) % stride) == 0
    if not values.size:
        return keep
    finite = np.isfinite(values)
    turns = np.zeros(count, dtype=bool)
    turns[1:] = (finite[1:] != finite[:-1]).any(axis=1)
    with np.errstate(all="ignore"):
        middle = np.nanmedian(np.where(finite, values, np.nan), axis=0) if finite.any() else np.zeros(values.shape[1])
        away = np.abs(values - middle)
        spread = np.nanmedian(np.where(finite, away, np.nan), axis=0) if finite.any() else np.ones(values.shape[1])
        far = (away > _OUTLIER * spread) & (spread > 0) & finite
    # a value that is always far out (a counter, a total) is no outlier; one that rarely is, is one
    rare = far.mean(axis=0) < 0.01
    must: NDArray[np.bool_] = keep | turns | (far & rare).any(axis=1)
    return must


def thin_to_fit(shapes: list[Shape]) -> None:
    """Thin the largest shapes until all of them together keep to the limit."""
    total = sum(shape.cells for shape in shapes)
    while total > MAX_CELLS:
        largest = max(shapes, key=lambda shape: shape.cells)
        before = largest.cells
        largest.thin()
        if largest.cells > 0.9 * before:  # hardly a row may go: the numbers are mostly unlike each other
            break
        total += largest.cells - before


def wall_times(numbers: dict[str, Floats], count: int) -> Floats:
    """Seconds from the parts of a time stamp; without a date they count from midnight, without a year from January."""
    if "s" not in numbers:
        return np.full(count, np.nan)
    part = {unit: np.nan_to_num(numbers[unit], nan=0.0) if unit in numbers else np.zeros(count) for unit in _UNITS}
    seconds = np.where(part["s"] >= 61, part["s"] / 1000, part["s"])  # '13,123' was read as thousands
    year = part["Y"] if "Y" in numbers else np.full(count, 1972.0)
    days = _days(np.clip(year, 1, 9999), np.clip(part["M"], 1, 12), part["D"]) if "D" in numbers else np.zeros(count)
    return np.asarray(days * 86400 + part["h"] * 3600 + part["m"] * 60 + seconds)


def _days(year: Floats, month: Floats, day: Floats) -> Floats:
    """Days since 1970 of a civil date, by counting from March so that leap days come last."""
    shifted = np.where(month <= 2, year - 1, year)
    from_march = (month + 9) % 12
    past = np.floor(365.25 * shifted) - np.floor(shifted / 100) + np.floor(shifted / 400)
    return np.asarray(past + np.floor((153 * from_march + 2) / 5) + day - 719469)
