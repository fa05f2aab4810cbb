"""Start all biases of linear and convolution layers at this value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.treatment import Treatment

_DENSE = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)


class Bias(Treatment):
    def attach(self) -> None:
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen and not self.hub.step:
            self._seen.add(module)
            for layer in module.modules():
                if isinstance(layer, _DENSE) and layer.bias is not None:
                    self.acted += 1
                    torch.nn.init.constant_(layer.bias, self.setting.number(0.0))
        return original(module, *args, **kwargs)


TREATMENT = Bias
