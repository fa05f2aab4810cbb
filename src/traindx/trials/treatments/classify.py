"""Cross-entropy instead of a distance, where the targets are classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.live.measures.nodes import ending
from traindx.trials.treatment import Treatment

TINY = 1e-7
DISTANCES = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")


class Classify(Treatment):
    def attach(self) -> None:
        self._given = ""
        for name in DISTANCES:
            self.hub.patch(torch.nn.functional, name, self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def distance(input: torch.Tensor, target: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            if self.hub.inside or input.shape != target.shape:
                return original(input, target, *args, **kwargs)
            if input.grad_fn is not None:
                self._given = ending(input).kind
            reduction = kwargs.get("reduction", "mean")
            if input.dim() == 2 and input.shape[1] > 1:
                self.acted += 1
                scores = input.clamp(min=TINY).log() if self._given == "Softmax" else input
                return torch.nn.functional.cross_entropy(scores, target.argmax(1), reduction=reduction)
            self.acted += 1
            scores = torch.logit(input, TINY) if self._given == "Sigmoid" else input
            return torch.nn.functional.binary_cross_entropy_with_logits(scores, target.float(), reduction=reduction)

        return distance


TREATMENT = Classify
