"""Keep the moments of an optimiser that the script builds anew over the same parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class OneOptimizer(Treatment):
    def attach(self) -> None:
        self._known: dict[frozenset[int], Optimizer] = {}
        self.hub.patch(Optimizer, "__init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(optimizer: Optimizer, *args: Any, **kwargs: Any) -> None:
            original(optimizer, *args, **kwargs)
            held = frozenset(map(id, parameters_of(optimizer)))
            before = self._known.get(held)
            if before is not None and type(before) is type(optimizer) and before.state:
                self.acted += 1
                optimizer.state = before.state
            self._known[held] = optimizer

        return __init__


TREATMENT = OneOptimizer
