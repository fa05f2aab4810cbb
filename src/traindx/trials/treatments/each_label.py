"""Binary cross-entropy instead of cross-entropy, where a sample may have several labels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.trials.treatment import Treatment


class EachLabel(Treatment):
    def attach(self) -> None:
        self.hub.patch(torch.nn.functional, "cross_entropy", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def cross_entropy(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self.hub.inside or input.shape != target.shape or not target.is_floating_point():
                return original(input, target, *args, **kwargs)
            self.acted += 1
            reduction = kwargs.get("reduction", "mean")
            return torch.nn.functional.binary_cross_entropy_with_logits(input, target, reduction=reduction)

        return cross_entropy


TREATMENT = EachLabel
