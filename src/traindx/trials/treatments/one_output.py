"""A sigmoid instead of a softmax over a single output."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.trials.activations import patch_function
from traindx.trials.treatment import Treatment


class OneOutput(Treatment):
    def attach(self) -> None:
        for name in ("softmax", "log_softmax"):
            patch_function(self.hub, name, partial(self._around, name))

    def _around(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def softmax(input: torch.Tensor, dim: Any = None, *args: Any, **kwargs: Any) -> Any:
            if isinstance(dim, int) and input.dim() and input.shape[dim] == 1 and not self.hub.inside:
                self.acted += 1
                return torch.sigmoid(input) if name == "softmax" else torch.nn.functional.logsigmoid(input)
            return original(input, dim, *args, **kwargs)

        return softmax


TREATMENT = OneOutput
