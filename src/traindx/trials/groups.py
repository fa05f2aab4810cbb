"""Treatments that set something of every parameter group once, when its optimiser first updates."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any
from weakref import WeakSet

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment


class GroupTreatment(Treatment):
    @abstractmethod
    def change(self, group: dict[str, Any]) -> bool:
        """Change a group; whether there was something to change."""

    def before_recorder(self) -> None:
        self._seen: WeakSet[Optimizer] = WeakSet()
        self.before_step(self._set)

    def _set(self, optimizer: Optimizer) -> None:
        if optimizer not in self._seen:
            self._seen.add(optimizer)
            self.acted += sum(self.change(group) for group in optimizer.param_groups)
