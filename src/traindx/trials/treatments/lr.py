"""The learning rate: a number for its peak, or 'x0.1' to scale it."""

from __future__ import annotations

from torch.optim import Optimizer

from traindx.trials.rates import RateTreatment


class Rate(RateTreatment):
    def factor(self, optimizer: Optimizer, group: dict[str, object], step: int) -> float:
        if self.setting.scales:
            return self.setting.number(1.0)
        rates = (group.get(key) for key in ("max_lr", "initial_lr", "lr"))
        peak = next((float(rate) for rate in rates if isinstance(rate, int | float) and rate), 0.0)
        return self.setting.number(0.0) / peak if peak else 1.0


TREATMENT = Rate
