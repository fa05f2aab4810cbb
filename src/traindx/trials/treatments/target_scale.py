"""Standardise the targets of a regression, as the first training batches show them."""

from __future__ import annotations

from typing import Any

import torch

from traindx.trials.statistics import Scale
from traindx.trials.treatment import Treatment


class TargetScale(Treatment):
    def attach(self) -> None:
        self._scale = Scale()
        self.around_criteria(self._change, "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or not isinstance(args[1], torch.Tensor):
            return args, kwargs
        if torch.is_grad_enabled() or not self._scale.known:
            self._scale.see(args[1], whole=True)
        self.acted += 1
        mean, spread = (moment.reshape(()) for moment in self._scale.moments())
        target = ((args[1].double() - mean) / spread).to(args[1].dtype)
        return (args[0], target, *args[2:]), kwargs


TREATMENT = TargetScale
