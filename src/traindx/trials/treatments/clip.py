"""Clipping: bound the global gradient norm by this number; 'x100' loosens the script's own clipping."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class Clip(Treatment):
    def before_recorder(self) -> None:
        if not self.setting.scales:
            self.before_step(self._clip)

    def attach(self) -> None:
        for name in ("clip_grad_norm_", "clip_grad_value_"):
            self.hub.patch(torch.nn.utils, name, self._around)

    def _clip(self, optimizer: Optimizer) -> None:
        held = [parameter for parameter in parameters_of(optimizer) if parameter.grad is not None]
        if held:
            torch.nn.utils.clip_grad_norm_(held, self.setting.number(1.0))
            self.acted += 1

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def clip(parameters: Any, limit: float, *args: Any, **kwargs: Any) -> Any:
            if self.setting.scales and not self.hub.inside:
                self.acted += 1
                limit = self.setting.number(limit)
            return original(parameters, limit, *args, **kwargs)

        return clip


TREATMENT = Clip
