"""Keep what a logarithm is given above this value (1e-7 unless given), so that no zero reaches it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.setting import Setting
from traindx.trials.treatment import Treatment

DEFAULT_FLOOR = 1e-7  # about the precision of float32, and the smallest that half precision still tells from zero


class LogFloor(Treatment):
    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._least = setting.number_or(DEFAULT_FLOOR)

    def attach(self) -> None:
        self.hub.patch(torch, "log", self._around)
        self.around_method("log", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def log(input: Any, *args: Any, **kwargs: Any) -> Any:
            # an evaluation takes the same logarithms; data whose logarithm masks with minus infinity are left alone
            learnt = isinstance(input, torch.Tensor) and (input.requires_grad or not torch.is_grad_enabled())
            if learnt and not self.hub.inside:
                self.acted += int(bool((input.detach() < self._least).any()))
                input = input.clamp(min=self._least)
            return original(input, *args, **kwargs)

        return log


TREATMENT = LogFloor
