"""Weight the classes in the training loss by the square root of how rare they are."""

from __future__ import annotations

from typing import Any

import torch

from traindx.trials.treatment import Treatment


class ClassWeights(Treatment):
    """`full` weights by the inverse frequency itself."""

    def attach(self) -> None:
        self._counts: torch.Tensor | None = None
        self._power = 1.0 if self.setting.value == "full" else 0.5
        self.around_criteria(self._change, "cross_entropy", "nll_loss", "binary_cross_entropy_with_logits")

    def _change(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        given = kwargs.get("weight") is not None or kwargs.get("pos_weight") is not None or len(args) > 2
        if given or len(args) < 2 or not torch.is_grad_enabled():
            return args, kwargs
        output, target = args[:2]
        binary = name.startswith("binary")
        if not binary and (target.is_floating_point() or output.dim() < 2):
            return args, kwargs
        classes = 2 if binary else output.shape[1]
        flat = (target.detach().reshape(-1) > 0.5).long() if binary else target.detach().reshape(-1)
        counts = torch.bincount(flat[(flat >= 0) & (flat < classes)], minlength=classes).double()
        self._counts = counts if self._counts is None else self._counts + counts
        self.acted += 1
        weight = (self._counts.sum() / (classes * self._counts.clamp(min=1))).pow(self._power)
        if binary:
            return args, {**kwargs, "pos_weight": (weight[1] / weight[0]).to(output.dtype)}
        return args, {**kwargs, "weight": weight.to(output.dtype)}


TREATMENT = ClassWeights
