"""Whether a loss still falls as it did at first: a training that ends so was ended early."""

from __future__ import annotations

from collections.abc import Sequence

STEADY = 0.6  # of the fall from the first third of the losses to the second, which the third one adds at least


def falls_steadily(losses: Sequence[float]) -> bool:
    third = len(losses) // 3
    if not third:
        return False
    start, middle, end = (sum(losses[third * part : third * (part + 1)]) for part in range(3))
    return start > middle > end and middle - end > STEADY * (start - middle)
