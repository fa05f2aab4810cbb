"""Softmax over the classes instead of the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.activations import patch_function
from traindx.trials.treatment import Treatment


class SoftmaxDim(Treatment):
    def attach(self) -> None:
        for name in ("softmax", "log_softmax"):
            patch_function(self.hub, name, self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def softmax(input: torch.Tensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
            if dim == 0 and input.dim() == 2 and not self.hub.inside:
                self.acted += 1
                dim = 1
            return original(input, dim, *args, **kwargs)

        return softmax


TREATMENT = SoftmaxDim
