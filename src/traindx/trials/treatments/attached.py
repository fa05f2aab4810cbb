"""Let `.detach()` inside the model's own forward pass cut nothing off."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class Attached(Treatment):
    """Outside the model numbers are detached for the log, and that stays."""

    def attach(self) -> None:
        self._inside = False
        self.around_models(self._call)
        self.around_method("detach", self._around)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        self._inside = True
        try:
            return original(module, *args, **kwargs)
        finally:
            self._inside = False

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def detach(input: torch.Tensor) -> torch.Tensor:
            if not self._inside or self.hub.inside or not input.requires_grad:
                return original(input)  # type: ignore[no-any-return]
            self.acted += 1
            return input

        return detach


TREATMENT = Attached
