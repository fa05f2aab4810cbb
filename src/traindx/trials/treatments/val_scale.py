"""Bring the inputs of evaluation to the scale of those of training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.statistics import Scale
from traindx.trials.treatment import Treatment


class ValScale(Treatment):
    """One mean and deviation for all features: what is undone is another preprocessing, not another world."""

    def attach(self) -> None:
        self._training, self._evaluation = Scale(), Scale()
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if args and isinstance(args[0], torch.Tensor) and args[0].is_floating_point():
            if torch.is_grad_enabled():
                self._training.see(args[0], whole=True)
            elif self._training.known:
                self._evaluation.see(args[0], whole=True)
                mean, spread = (moment.reshape(()) for moment in self._training.moments())
                here, width = (moment.reshape(()) for moment in self._evaluation.moments())
                self.acted += 1
                args = (((args[0].double() - here) / width * spread + mean).to(args[0].dtype), *args[1:])
        return original(module, *args, **kwargs)


TREATMENT = ValScale
