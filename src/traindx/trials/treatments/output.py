"""A linear output: leave out the activation behind the model's last layer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.live.events.hub import CRITERIA
from traindx.trials.activations import Memory
from traindx.trials.treatment import Treatment


class Linear(Treatment):
    def attach(self) -> None:
        self._memory = Memory(self.hub)
        self.around_models(self._call)
        self.around_criteria(self._criterion, *CRITERIA)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._memory.forget()
        return self._bare(original(module, *args, **kwargs))

    def _criterion(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if args:
            args = (self._bare(args[0]), *args[1:])
        self._memory.forget()
        return args, kwargs

    def _bare(self, output: Any) -> Any:
        before = self._memory.before(output, ("sigmoid", "tanh", "relu"))
        if before is None:
            return output
        self.acted += 1
        return before


TREATMENT = Linear
