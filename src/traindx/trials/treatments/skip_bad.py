"""Skip updates whose gradients are not finite."""

from __future__ import annotations

import torch
from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class SkipBad(Treatment):
    """The gradients are taken away: an optimiser leaves parameters without one alone."""

    def before_recorder(self) -> None:
        self.before_step(self._check)

    def _check(self, optimizer: Optimizer) -> None:
        held = [parameter for parameter in parameters_of(optimizer) if parameter.grad is not None]
        if held and not bool(
            torch.isfinite(torch.stack([p.grad.detach().abs().max().float() for p in held if p.grad is not None])).all()
        ):
            self.acted += 1
            for parameter in held:
                parameter.grad = None


TREATMENT = SkipBad
