"""The probability of every dropout: a number, or 'x0.3' to scale it; where there is none, before every linear layer but
the first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch

from traindx.trials.treatment import Treatment

_DROPOUT = torch.nn.modules.dropout._DropoutNd


class Dropout(Treatment):
    def attach(self) -> None:
        self._models: WeakKeyDictionary[torch.nn.Module, list[_DROPOUT]] = WeakKeyDictionary()
        self._layers: dict[int, int] = {}
        self._adding = False
        self.around_models(self._call)
        self.hub.patch(torch.nn.Linear, "forward", self._around_linear)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        there = self._models.get(module)
        if there is None:
            there = self._models[module] = [layer for layer in module.modules() if isinstance(layer, _DROPOUT)]
            for layer in there:
                layer.p = min(0.95, self.setting.number(layer.p))
                self.acted += 1
        self._adding = not there and not self.setting.scales and module.training and torch.is_grad_enabled()
        self._layers = {}
        try:
            return original(module, *args, **kwargs)
        finally:
            self._adding = False

    def _around_linear(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(layer: torch.nn.Linear, input: torch.Tensor) -> Any:
            if self._adding and not self.hub.inside:
                place = self._layers.setdefault(id(layer), len(self._layers))
                if place:
                    self.acted += 1
                    input = torch.nn.functional.dropout(input, self.setting.number(0.0), training=True)
            return original(layer, input)

        return forward


TREATMENT = Dropout
