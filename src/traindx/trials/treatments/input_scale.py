"""Standardise the inputs by feature, as the first training batches show them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

import torch

from traindx.trials.statistics import Scale
from traindx.trials.treatment import Treatment


class InputScale(Treatment):
    def attach(self) -> None:
        self._scales: WeakKeyDictionary[torch.nn.Module, Scale] = WeakKeyDictionary()
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if args and isinstance(args[0], torch.Tensor) and args[0].is_floating_point() and args[0].dim() >= 2:
            scale = self._scales.setdefault(module, Scale())
            if torch.is_grad_enabled() or not scale.known:
                scale.see(args[0])
            self.acted += 1
            args = (scale.standardised(args[0]), *args[1:])
        return original(module, *args, **kwargs)


TREATMENT = InputScale
