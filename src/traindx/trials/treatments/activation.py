"""Another activation in the hidden layers: 'relu' instead of sigmoid and tanh, 'leaky' instead of ReLU."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.treatment import Treatment

_DENSE = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
_OLD = {"relu": (torch.nn.Sigmoid, torch.nn.Tanh), "leaky": (torch.nn.ReLU,)}
SLOPE = 0.01


class Activation(Treatment):
    def attach(self) -> None:
        if self.setting.value not in _OLD:
            raise ValueError(f"activation is one of {', '.join(_OLD)}")
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.around_models(self._call)
        if self.setting.value == "leaky":
            self.hub.patch(torch.nn.functional, "relu", self._around_relu)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen and not self.hub.step:
            self._seen.add(module)
            self._replace(module)
        return original(module, *args, **kwargs)

    @torch.no_grad()
    def _replace(self, model: torch.nn.Module) -> None:
        layers = list(model.modules())
        last = max((place for place, layer in enumerate(layers) if isinstance(layer, _DENSE)), default=0)
        hidden = {id(layer) for layer in layers[:last]}  # what stands behind the last layer belongs to the output
        for layer in layers:
            for name, child in layer.named_children():
                if isinstance(child, _OLD[self.setting.value]) and id(child) in hidden:
                    self.acted += 1
                    setattr(layer, name, torch.nn.ReLU() if self.setting.value == "relu" else torch.nn.LeakyReLU(SLOPE))
        if self.acted and self.setting.value == "relu":
            for layer in layers:
                if isinstance(layer, _DENSE):
                    torch.nn.init.kaiming_normal_(layer.weight, nonlinearity="relu")
                    if layer.bias is not None:
                        torch.nn.init.zeros_(layer.bias)

    def _around_relu(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def relu(input: torch.Tensor, inplace: bool = False) -> Any:
            if self.hub.inside:
                return original(input, inplace)
            self.acted += 1
            return torch.nn.functional.leaky_relu(input, SLOPE)

        return relu


TREATMENT = Activation
