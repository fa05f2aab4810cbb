"""The Huber loss instead of the squared error, with this delta."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class RobustLoss(Treatment):
    def attach(self) -> None:
        self.hub.patch(torch.nn.functional, "mse_loss", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def mse_loss(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self.hub.inside or not torch.is_grad_enabled():
                return original(input, target, *args, **kwargs)
            self.acted += 1
            delta = self.setting.number_or(1.0)
            return torch.nn.functional.huber_loss(input, target, reduction=kwargs.get("reduction", "mean"), delta=delta)

        return mse_loss


TREATMENT = RobustLoss
