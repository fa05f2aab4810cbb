"""What changed between two checkpoints, tensor by tensor."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from traindx.checkpoints.tensor import Tensor, blocks, raw_blocks


@dataclass(frozen=True, slots=True)
class Drift:
    """How far one tensor moved: the norm of the change by the norm before, the cosine between before and after, and the
    share of elements that changed at all. `identical` means bit for bit, in the same dtype."""

    identical: bool
    change: float
    cosine: float
    changed: float


def drift(before: Tensor, after: Tensor) -> Drift | None:
    """The change of one tensor; None where the shapes differ, so that there is nothing to compare."""
    if before.shape != after.shape or not before.size:
        return None
    if before.dtype == after.dtype and _same(before, after):
        return Drift(True, 0.0, 1.0, 0.0)
    gap = old = new = common = 0.0
    count = 0
    with np.errstate(all="ignore"):
        for one, other in zip(blocks(before), blocks(after), strict=True):
            left, right = one.astype(np.float64), other.astype(np.float64)
            apart = right - left
            count += int(np.count_nonzero(apart))
            gap += float(np.dot(apart, apart))
            old += float(np.dot(left, left))
            new += float(np.dot(right, right))
            common += float(np.dot(left, right))
    change = math.sqrt(gap / old) if old > 0 else (math.inf if gap > 0 else 0.0)
    size = math.sqrt(old) * math.sqrt(new)
    cosine = common / size if size > 0 else math.nan
    return Drift(False, change, cosine, count / before.size)


def _same(before: Tensor, after: Tensor) -> bool:
    return all(
        one.tobytes() == other.tobytes() for one, other in zip(raw_blocks(before), raw_blocks(after), strict=True)
    )
