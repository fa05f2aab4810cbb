"""Average the training loss over the batch instead of summing it."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.events.hub import CRITERIA
from traindx.trials.treatment import Treatment


class Reduction(Treatment):
    """Evaluation is left alone: there the sum is divided by the script."""

    def attach(self) -> None:
        self.around_criteria(self._change, *CRITERIA)

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if kwargs.get("reduction") == "sum" and torch.is_grad_enabled():
            self.acted += 1
            kwargs = {**kwargs, "reduction": "mean"}
        return args, kwargs


TREATMENT = Reduction
