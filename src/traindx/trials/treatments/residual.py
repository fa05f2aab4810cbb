"""Add what the hidden layer before gave out to what a hidden layer gives out, where the one feeds the other and both
are alike in shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.chains import feeds, hidden_layers
from traindx.trials.treatment import Treatment


class Residual(Treatment):
    """The activation lies inside of the branch (He et al. 2016, identity mappings): sums are passed on as they are.
    Training steps tell which layer feeds which; evaluations are treated like them."""

    def attach(self) -> None:
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self._fed_by: dict[int, int] = {}  # layer by layer
        self._given: dict[int, torch.Tensor] = {}  # by the layers of this call so far
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen and not self.hub.step:
            self._seen.add(module)
            self.hooks += [layer.register_forward_hook(self._add) for layer in hidden_layers(module)]
        self._given.clear()
        try:
            return original(module, *args, **kwargs)
        finally:
            self._given.clear()

    def _add(self, layer: torch.nn.Module, args: tuple[Any, ...], output: Any) -> Any:
        if self.hub.inside or not isinstance(output, torch.Tensor) or not args or not isinstance(args[0], torch.Tensor):
            return output
        if id(layer) not in self._fed_by and args[0].grad_fn is not None:
            node = args[0].grad_fn
            source = next((one for one, given in self._given.items() if feeds(given.grad_fn, node)), 0)
            self._fed_by[id(layer)] = source
        before = self._given.get(self._fed_by.get(id(layer), 0))
        if before is not None and before.shape == output.shape:
            self.acted += 1
            output = output + before
        self._given[id(layer)] = output
        return output


TREATMENT = Residual
