"""The weight decay: a number, or 'x0.01' to scale it."""

from __future__ import annotations

from weakref import WeakSet

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment


class WeightDecay(Treatment):
    def before_recorder(self) -> None:
        self._seen: WeakSet[Optimizer] = WeakSet()
        self.before_step(self._set)

    def _set(self, optimizer: Optimizer) -> None:
        if optimizer in self._seen:
            return
        self._seen.add(optimizer)
        for group in optimizer.param_groups:
            if "weight_decay" in group and (not self.setting.scales or group["weight_decay"]):
                group["weight_decay"] = self.setting.number(group["weight_decay"])
                self.acted += 1


TREATMENT = WeightDecay
