"""Initialise the weights anew: 'default' as torch does, 'fan_in' by Kaiming or Xavier, 'small' with a deviation of
0.02."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.treatment import Treatment

WAYS = ("default", "fan_in", "small")
SMALL = 0.02  # as GPT-2 begins
_SQUASHING = (torch.nn.Tanh, torch.nn.Sigmoid)
_DENSE = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)


class Init(Treatment):
    def attach(self) -> None:
        if self.setting.value not in WAYS:
            raise ValueError(f"init is one of {', '.join(WAYS)}")
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen:
            self._seen.add(module)
            if not self.hub.step:
                self._begin_anew(module)
        return original(module, *args, **kwargs)

    @torch.no_grad()
    def _begin_anew(self, model: torch.nn.Module) -> None:
        squashed = any(isinstance(layer, _SQUASHING) for layer in model.modules())
        for layer in model.modules():
            reset: Any = getattr(layer, "reset_parameters", None)
            if reset is None or not any(True for _ in layer.parameters(recurse=False)):
                continue
            self.acted += 1
            reset()
            if self.setting.value == "small" and isinstance(layer, (*_DENSE, torch.nn.Embedding)):
                torch.nn.init.normal_(layer.weight, std=SMALL)
            elif self.setting.value == "fan_in" and isinstance(layer, _DENSE):
                if squashed:
                    torch.nn.init.xavier_normal_(layer.weight)
                else:
                    torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
            if self.setting.value != "default" and isinstance(layer, _DENSE) and layer.bias is not None:
                torch.nn.init.zeros_(layer.bias)


TREATMENT = Init
