"""Mean and deviation from running sums."""

from __future__ import annotations

import math


class Moments:
    """For what adds up its numbers and their squares."""

    count: int
    sum: float
    squares: float

    @property
    def mean(self) -> float:
        return self.sum / max(self.count, 1)

    @property
    def std(self) -> float:
        return math.sqrt(max(self.squares / max(self.count, 1) - self.mean**2, 0.0))
