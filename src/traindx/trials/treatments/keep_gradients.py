"""Gradients cleared after the update instead of between `backward()` and `step()`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.trials.treatment import Treatment


class KeepGradients(Treatment):
    def attach(self) -> None:
        self._fresh = False  # `backward` has run, and nothing has used its gradients yet
        self._due = False  # a call that was held back
        self.hub.patch(torch.Tensor, "backward", self._around_backward)
        self.hub.patch(Optimizer, "zero_grad", self._around_clearing)
        self.hub.patch(torch.nn.Module, "zero_grad", self._around_clearing)
        self.after_step(self._clear)

    def _around_backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(*args: Any, **kwargs: Any) -> Any:
            self._fresh = True
            return original(*args, **kwargs)

        return backward

    def _around_clearing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def zero_grad(owner: Any, *args: Any, **kwargs: Any) -> Any:
            if self._fresh:
                self.acted += 1
                self._due = True
                return None
            return original(owner, *args, **kwargs)

        return zero_grad

    def _clear(self, optimizer: Optimizer) -> None:
        self._fresh = False
        if self._due:
            self._due = False
            optimizer.zero_grad(set_to_none=True)


TREATMENT = KeepGradients
