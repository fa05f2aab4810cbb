"""Clear the gradients after every update."""

from __future__ import annotations

from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class ZeroGrad(Treatment):
    def attach(self) -> None:
        self.after_step(self._clear)

    def _clear(self, optimizer: Optimizer) -> None:
        self.acted += any(parameter.grad is not None for parameter in parameters_of(optimizer))
        optimizer.zero_grad(set_to_none=True)


TREATMENT = ZeroGrad
