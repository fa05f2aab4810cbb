"""Normalise what each hidden layer gives out, sample by sample, where the model has no normalisation of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.chains import CONVOLUTIONS, hidden_layers
from traindx.trials.treatment import Treatment


class Norm(Treatment):
    """Without weights of its own, which no optimiser of the script would know."""

    def attach(self) -> None:
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen and not self.hub.step:
            self._seen.add(module)
            if not any("Norm" in type(layer).__name__ for layer in module.modules()):  # also those a user has written
                self.hooks += [layer.register_forward_hook(self._normalise) for layer in hidden_layers(module)]
        return original(module, *args, **kwargs)

    def _normalise(self, layer: torch.nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        if self.hub.inside or not isinstance(output, torch.Tensor) or output.dim() < 2:
            return output
        self.acted += 1
        if isinstance(layer, CONVOLUTIONS):
            return torch.nn.functional.group_norm(output, 1)
        return torch.nn.functional.layer_norm(output, output.shape[-1:])


TREATMENT = Norm
