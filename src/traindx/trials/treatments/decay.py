"""Decay: lower the learning rate along a cosine to zero over so many steps."""

from __future__ import annotations

import math

from torch.optim import Optimizer

from traindx.trials.rates import RateTreatment

FLOOR = 1e-3  # of the peak: what is left at the end


class Decay(RateTreatment):
    def factor(self, optimizer: Optimizer, group: dict[str, object], step: int) -> float:
        share = min(1.0, step / max(self.setting.number(1.0), 1.0))
        return max(FLOOR, 0.5 * (1 + math.cos(math.pi * share)))


TREATMENT = Decay
