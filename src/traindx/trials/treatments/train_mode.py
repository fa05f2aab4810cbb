"""Training mode wherever gradients are wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class TrainMode(Treatment):
    def attach(self) -> None:
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if torch.is_grad_enabled() and not module.training:
            self.acted += 1
            module.train()
        return original(module, *args, **kwargs)


TREATMENT = TrainMode
