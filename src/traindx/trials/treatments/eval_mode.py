"""Evaluation mode wherever gradients are off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class EvalMode(Treatment):
    def attach(self) -> None:
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if torch.is_grad_enabled() or not module.training:
            return original(module, *args, **kwargs)
        self.acted += 1
        module.eval()
        try:
            return original(module, *args, **kwargs)
        finally:
            module.train()


TREATMENT = EvalMode
