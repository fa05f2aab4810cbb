"""The batch size of every DataLoader: a number, or 'x2' to scale it; where a loop cuts its own batches, updates by the
mean of several."""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any

import torch
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from traindx.trials.setting import Setting
from traindx.trials.treatment import Treatment, parameters_of


class BatchSize(Treatment):
    """A loop without a loader of its own size gets the gradient of a larger batch from as many of its small ones:
    updates between are left out, and the last is made with the mean of their gradients. What the script does with
    gradients in between stays as it is."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._parts = round(setting.number(1.0)) if setting.scales else 1
        self._loaded = False

    def attach(self) -> None:
        self.hub.patch(DataLoader, "__init__", self._around_loader)
        self.hub.patch(Optimizer, "__init__", self._around_optimizer)

    def _around_loader(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(loader: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kwargs: Any) -> None:
            if isinstance(batch_size, int) and kwargs.get("batch_sampler") is None:
                self.acted += 1
                self._loaded = True
                batch_size = max(1, int(self.setting.number(batch_size)))
            original(loader, dataset, batch_size, *args, **kwargs)

        return __init__

    def _around_optimizer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            if self._parts > 1:
                optimizer.step = MethodType(self._step(), optimizer)  # type: ignore[method-assign]

        return __init__

    def _step(self) -> Callable[..., Any]:
        """The step of one optimiser. A method of it, since schedulers wrap it as one."""
        sums: dict[torch.Tensor, torch.Tensor] = {}
        count = 0

        def step(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            nonlocal count
            if self._loaded or args or kwargs or self.hub.ended:
                return type(optimizer).step(optimizer, *args, **kwargs)
            own = {one: one.grad for one in parameters_of(optimizer) if one.grad is not None}
            for one, gradient in own.items():
                sums[one] = sums[one] + gradient if one in sums else gradient.clone()
            count += 1
            if count < self._parts:
                return None
            for parameter, total in sums.items():
                parameter.grad = total / count
            count = 0
            sums.clear()
            self.acted += 1
            result = type(optimizer).step(optimizer)
            for parameter in parameters_of(optimizer):
                parameter.grad = own.get(parameter)
            return result

        return step


TREATMENT = BatchSize
