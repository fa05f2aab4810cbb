"""Leave out samples that are not finite: they neither reach the model nor count in the loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.live.events.hub import CRITERIA
from traindx.trials.treatment import Treatment


class NanInputs(Treatment):
    """A broken row is passed on as zeros, so that shapes stay, and is cut out again before the loss."""

    def attach(self) -> None:
        self._good: torch.Tensor | None = None
        self.around_models(self._call)
        self.around_criteria(self._change, *CRITERIA)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._good = None
        if args and isinstance(args[0], torch.Tensor) and args[0].is_floating_point() and args[0].dim() >= 2:
            good = torch.isfinite(args[0]).flatten(1).all(1)
            if not bool(good.all()):
                self.acted += 1
                self._good = good
                shape = (-1, *([1] * (args[0].dim() - 1)))
                args = (torch.where(good.reshape(shape), args[0], torch.zeros_like(args[0])), *args[1:])
        return original(module, *args, **kwargs)

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if len(args) < 2 or not isinstance(args[0], torch.Tensor) or not isinstance(args[1], torch.Tensor):
            return args, kwargs
        output, target = args[:2]
        if not output.dim() or not target.dim() or len(output) != len(target):
            return args, kwargs
        good = self._good if self._good is not None and len(self._good) == len(output) else None
        if target.is_floating_point():
            finite = torch.isfinite(target).flatten(1).all(1) if target.dim() > 1 else torch.isfinite(target)
            good = finite if good is None else good & finite
        if good is None or bool(good.all()) or not bool(good.any()):
            return args, kwargs
        self.acted += 1
        return (output[good], target[good], *args[2:]), kwargs


TREATMENT = NanInputs
