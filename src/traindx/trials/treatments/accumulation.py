"""Divide the loss by the number of batches that one update accumulates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.trials.treatment import Treatment


class Accumulation(Treatment):
    """The number is learnt from the first update, or given."""

    def before_recorder(self) -> None:
        self._parts = 0 if self.setting.value == "on" else int(self.setting.number(1.0))
        self._backwards = 0
        self.before_step(self._learn)

    def attach(self) -> None:
        self.hub.patch(torch.autograd, "backward", self._around)

    def _learn(self, optimizer: Optimizer) -> None:
        parts, self._backwards = self._parts or self._backwards, 0
        if not self._parts and parts > 1:
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    if parameter.grad is not None:
                        parameter.grad /= parts
        self._parts = parts

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            self._backwards += 1
            if isinstance(tensors, torch.Tensor) and self._parts > 1 and not self.hub.inside:
                self.acted += 1
                tensors = tensors / self._parts
            return original(tensors, *args, **kwargs)

        return backward


TREATMENT = Accumulation
