"""Stop when validation has not improved for so many evaluations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import CRITERIA
from traindx.trials.treatment import Treatment

PATIENCE = 3


class EarlyStop(Treatment):
    """An evaluation is every loss without a gradient between two updates."""

    def before_recorder(self) -> None:
        self._losses: list[torch.Tensor] = []
        self._best = float("inf")
        self._waited = 0
        self._patience = int(self.setting.number_or(PATIENCE))
        self.before_step(self._look)

    def attach(self) -> None:
        for name in CRITERIA:
            self.hub.patch(torch.nn.functional, name, self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def criterion(*args: Any, **kwargs: Any) -> Any:
            output = original(*args, **kwargs)
            if (
                not self.hub.inside
                and self.hub.step
                and not torch.is_grad_enabled()
                and isinstance(output, torch.Tensor)
            ):
                self._losses.append(output.detach().float().mean())
            return output

        return criterion

    def _look(self, optimizer: Optimizer) -> None:
        if not self._losses:
            return
        loss = float(torch.stack(self._losses).mean())
        self._losses.clear()
        self.acted += 1
        self._waited = 0 if loss < self._best else self._waited + 1
        self._best = min(self._best, loss)
        if self._waited >= self._patience:
            self.hub.stop_after = self.hub.step + 1


TREATMENT = EarlyStop
