"""Treatments that scale the learning rate of every step, whatever schedule the script has."""

from __future__ import annotations

from abc import abstractmethod

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class RateTreatment(Treatment):
    """The rate is scaled just for the update and put back after it: schedulers find what they left."""

    @abstractmethod
    def factor(self, optimizer: Optimizer, group: dict[str, object], step: int) -> float:
        """What the rate of this group is multiplied by at the optimiser's update number `step`."""

    def before_recorder(self) -> None:
        self._kept: dict[int, list[object]] = {}
        self._steps: dict[int, int] = {}
        self.before_step(self._scale)

    def attach(self) -> None:
        self.after_step(self._restore)

    def _scale(self, optimizer: Optimizer) -> None:
        held = parameters_of(optimizer)
        same = id(held[0]) if held else 0  # an optimiser that is built anew over the same parameters goes on
        step = self._steps.get(same, 0)
        self._steps[same] = step + 1
        self._kept[id(optimizer)] = [group["lr"] for group in optimizer.param_groups]
        for group in optimizer.param_groups:
            factor = self.factor(optimizer, group, step)
            group["lr"] = group["lr"] * factor
            self.acted += factor != 1.0

    def _restore(self, optimizer: Optimizer) -> None:
        for group, rate in zip(optimizer.param_groups, self._kept.pop(id(optimizer), ()), strict=False):
            group["lr"] = rate
