"""Add this much (1e-5 unless given) to a divisor that is zero."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.setting import Setting
from traindx.trials.treatment import Treatment

DEFAULT_FLOOR = 1e-5  # what normalisation layers add


class DivideFloor(Treatment):
    """Every division counts, those too that prepare the data before anything is learnt from them."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._least = setting.number_or(DEFAULT_FLOOR)

    def attach(self) -> None:
        self.hub.patch(torch, "div", self._around)
        self.hub.patch(torch.Tensor, "__itruediv__", self._around)  # this one tensors have of their own
        for name in ("div", "div_", "__truediv__"):
            self.around_method(name, self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def div(input: Any, other: Any, *args: Any, **kwargs: Any) -> Any:
            if isinstance(other, torch.Tensor) and not self.hub.inside:
                empty = other.detach() == 0
                if bool(empty.any()):
                    self.acted += 1
                    other = other + self._least * empty
            return original(input, other, *args, **kwargs)

        return div


TREATMENT = DivideFloor
