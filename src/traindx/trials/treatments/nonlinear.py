"""Put a ReLU between linear layers that follow each other with nothing else between them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment

LAYERS = (torch.nn.Linear, torch.nn.Conv1d, torch.nn.Conv2d)
LINEAR = ("Addmm", "Mm", "Linear", "Convolution")
PASSED = ("View", "UnsafeView", "ReshapeAlias", "NativeDropout", "NativeBatchNorm")  # what lets a linear layer through
FAR = 4


class Nonlinear(Treatment):
    """Training steps tell which layers are given what a linear one made; those are treated in evaluations too."""

    def attach(self) -> None:
        self._fed: dict[int, bool] = {}
        for kind in LAYERS:
            self.hub.patch(kind, "forward", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def forward(layer: torch.nn.Module, input: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if input.grad_fn is not None and id(layer) not in self._fed:
                self._fed[id(layer)] = _is_linear(input.grad_fn)
            if self._fed.get(id(layer)):
                self.acted += 1
                input = torch.relu(input)
            return original(layer, input, *args, **kwargs)

        return forward


def _is_linear(node: Any) -> bool:
    for _ in range(FAR):
        name = node.name() if node is not None else ""
        if name.startswith(LINEAR):
            return True
        if not name.startswith(PASSED):
            return False
        node = node.next_functions[0][0]
    return False


TREATMENT = Nonlinear
