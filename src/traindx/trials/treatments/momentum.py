"""The momentum of SGD, or the first beta of Adam."""

from __future__ import annotations

from weakref import WeakSet

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment


class Momentum(Treatment):
    def before_recorder(self) -> None:
        self._seen: WeakSet[Optimizer] = WeakSet()
        self.before_step(self._set)

    def _set(self, optimizer: Optimizer) -> None:
        if optimizer in self._seen:
            return
        self._seen.add(optimizer)
        for group in optimizer.param_groups:
            if "momentum" in group:
                group["momentum"] = self.setting.number(group["momentum"])
                self.acted += 1
            elif "betas" in group:
                group["betas"] = (self.setting.number(group["betas"][0]), *group["betas"][1:])
                self.acted += 1


TREATMENT = Momentum
