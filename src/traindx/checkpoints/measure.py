"""Statistics of one tensor, in one pass over its blocks with float64 sums: memory stays the same however large it
is."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from traindx.checkpoints.tensor import BLOCK, Block, Tensor, blocks

SAMPLE = 8192  # elements kept of each tensor, for quantiles and for the shape of its distribution
MOST_SAMPLES = 1 << 23  # elements kept in all
MOST_ROWS = 1 << 17  # rows that are compared with each other
SHORTEST_ROW = 4  # shorter rows are equal by chance
DEAD = 1e-6  # a row this small beside the median row contributes nothing
COPIES = 1e-6  # relative spread of rows that are copies up to rounding
QUANTILES = (0.01, 0.25, 0.5, 0.75, 0.99)
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Stats:
    """What one tensor looks like. Moments, norm and range are those of its finite elements; `largest` is the largest
    absolute value. `rows` counts the units that could be compared (0: not compared)."""

    tensor: Tensor
    mean: float
    std: float
    norm: float
    low: float
    high: float
    zeros: int
    nonfinite: int
    nans: int
    quantiles: tuple[float, ...]
    sample: NDArray[np.float32]
    rows: int = 0
    dead_rows: int = 0
    twin_rows: int = 0
    copies: bool = False  # every row is the same, and not zero

    @property
    def name(self) -> str:
        return self.tensor.name

    @property
    def size(self) -> int:
        return self.tensor.size

    @property
    def largest(self) -> float:
        return max(abs(self.low), abs(self.high))

    @property
    def rms(self) -> float:
        """The root mean square: the norm, made comparable between sizes."""
        return self.norm / math.sqrt(max(self.size - self.nonfinite, 1))

    @property
    def mask(self) -> bool:
        """Zeros and infinities alone: an attention mask that was saved with the weights."""
        return self.nonfinite > 0 and not self.nans and self.low == self.high == 0

    @property
    def constant(self) -> float | None:
        """The value all elements have, or None."""
        return self.low if self.size and not self.nonfinite and self.low == self.high else None


def sample_size(tensors: int) -> int:
    """How many elements to keep of each, so that all samples together stay small."""
    return min(SAMPLE, max(64, MOST_SAMPLES // max(tensors, 1)))


def measure(tensor: Tensor, keep: int = SAMPLE) -> Stats:
    """The statistics of one tensor."""
    by_row = 2 <= tensor.rows <= MOST_ROWS and SHORTEST_ROW <= tensor.row_size <= BLOCK and tensor.floating
    rng = np.random.default_rng(zlib.crc32(tensor.name.encode("utf-8", "replace")))
    total = squares = 0.0
    low, high = math.inf, -math.inf
    zeros = nonfinite = nans = 0
    samples: list[NDArray[np.float32]] = []
    sums: list[Floats] = []
    powers: list[Floats] = []
    with np.errstate(all="ignore"):
        for block in blocks(tensor, by_row):
            flat, bad = _finite(block)
            if bad:
                nonfinite += bad
                nans += int(np.isnan(block).sum())
            samples.append(_some(flat, keep, tensor.size, rng))
            if len(flat):
                low, high = min(low, float(flat.min())), max(high, float(flat.max()))
                zeros += len(flat) - int(np.count_nonzero(flat))
            if by_row:
                wide = block.astype(np.float64)
                if bad:
                    wide[~np.isfinite(wide)] = 0.0
                sums.append(wide.sum(axis=1, dtype=np.float64))
                powers.append(np.einsum("ij,ij->i", wide, wide))
                total += float(sums[-1].sum())
                squares += float(powers[-1].sum())
            else:
                double = flat.astype(np.float64)
                total += float(double.sum())
                squares += float(np.dot(double, double))
        count = tensor.size - nonfinite
        mean = total / count if count else math.nan
        std = math.sqrt(max(squares / count - mean * mean, 0.0)) if count else math.nan
        sample = np.concatenate(samples) if samples else np.empty(0, np.float32)
        quantiles = tuple(map(float, np.quantile(sample, QUANTILES))) if len(sample) else (math.nan,) * len(QUANTILES)
        rows = _compare(np.concatenate(sums), np.concatenate(powers)) if sums else (0, 0, 0, False)
    if not count:
        low = high = math.nan
    return Stats(tensor, mean, std, math.sqrt(squares), low, high, zeros, nonfinite, nans, quantiles, sample, *rows)


def _finite(block: Block) -> tuple[Block, int]:
    """The finite elements, flat, and how many others there are. Minimum and maximum carry NaN, so that two passes
    settle it."""
    flat = block.reshape(-1)
    if not len(flat) or (math.isfinite(float(flat.min())) and math.isfinite(float(flat.max()))):
        return flat, 0
    good = np.isfinite(flat)
    return flat[good], int(len(flat) - good.sum())


def _some(flat: Block, keep: int, size: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """This block's share of the sample: all of a small tensor, random places of a large one."""
    if size <= keep:
        return flat.astype(np.float32)
    count = min(len(flat), math.ceil(keep * len(flat) / size))
    return flat[rng.integers(0, max(len(flat), 1), count if len(flat) else 0)].astype(np.float32)


def _compare(sums: Floats, powers: Floats) -> tuple[int, int, int, bool]:
    """Rows in all, dead ones, and twins: rows equal to an earlier one, recognised by their sum and their norm, which
    numpy computes the same way for every row."""
    norms = np.sqrt(powers)
    alive = norms > DEAD * float(np.median(norms)) if np.median(norms) > 0 else norms > 0
    living = int(alive.sum())
    prints = np.unique(sums[alive] + 1j * powers[alive])
    size = float(norms.max(initial=0.0))
    same = len(norms) >= SHORTEST_ROW and size > 0 and np.ptp(norms) <= COPIES * size and np.ptp(sums) <= COPIES * size
    return len(norms), len(norms) - living, living - len(prints), bool(same)
