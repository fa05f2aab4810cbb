"""Warm-up: raise the learning rate linearly over so many steps."""

from __future__ import annotations

from torch.optim import Optimizer

from traindx.trials.rates import RateTreatment


class Warmup(RateTreatment):
    def factor(self, optimizer: Optimizer, group: dict[str, object], step: int) -> float:
        return min(1.0, (step + 1) / max(self.setting.number(1.0), 1.0))


TREATMENT = Warmup
