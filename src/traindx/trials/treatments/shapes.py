"""Give prediction and target the same shape instead of letting them broadcast."""

from __future__ import annotations

from typing import Any

import torch

from traindx.trials.treatment import Treatment


class Shapes(Treatment):
    def attach(self) -> None:
        self.around_criteria(
            self._change, "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy_with_logits"
        )

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or not isinstance(args[0], torch.Tensor) or not isinstance(args[1], torch.Tensor):
            return args, kwargs
        output, target = args[:2]
        if output.shape == target.shape or output.numel() != target.numel():
            return args, kwargs
        self.acted += 1
        return (output.reshape(target.shape), target, *args[2:]), kwargs


TREATMENT = Shapes
