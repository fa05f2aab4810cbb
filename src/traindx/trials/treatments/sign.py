"""Minimise the loss instead of maximising it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class Sign(Treatment):
    def attach(self) -> None:
        self.hub.patch(torch.autograd, "backward", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(tensors, torch.Tensor) and tensors.numel() == 1 and not self.hub.inside:
                self.acted += 1
                tensors = -tensors
            return original(tensors, *args, **kwargs)

        return backward


TREATMENT = Sign
