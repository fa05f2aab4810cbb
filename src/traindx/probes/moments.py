"""Mean, deviation and the like of numbers that come in pieces."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch


@dataclass
class Moments:
    """Sums over all pieces, in double precision; numbers that are not finite are counted and count as 0."""

    count: int = 0
    sum: float = 0.0
    squares: float = 0.0
    largest: float = 0.0
    zeros: int = 0
    nonfinite: int = 0

    def take(self, numbers: torch.Tensor) -> torch.Tensor:
        """Add a piece; gives it back as it was counted."""
        numbers = numbers.detach().double()
        finite = numbers.isfinite()
        good = torch.where(finite, numbers, torch.zeros_like(numbers))
        self.count += numbers.numel()
        self.sum += float(good.sum())
        self.squares += float(good.square().sum())
        self.largest = max(self.largest, float(good.abs().amax()) if good.numel() else 0.0)
        self.zeros += int((numbers == 0).sum())
        self.nonfinite += int((~finite).sum())
        return good

    @property
    def mean(self) -> float:
        return self.sum / max(self.count, 1)

    @property
    def std(self) -> float:
        return math.sqrt(max(self.squares / max(self.count, 1) - self.mean**2, 0.0))

    def percent(self, part: float) -> float:
        """A count as a share of all numbers."""
        return round(100 * part / max(self.count, 1), 2)
