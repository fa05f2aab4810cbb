"""Give the optimiser every parameter of the models that it lacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.trials.treatment import Treatment, parameters_of


class AllParams(Treatment):
    """Looked at before the first updates only: what is left out on purpose later stays out."""

    unfreeze = False
    updates = 5

    def before_recorder(self) -> None:
        self._models: dict[int, torch.nn.Module] = {}
        self._optimizers: dict[int, Optimizer] = {}
        self._steps = 0
        self.before_step(self._add)

    def attach(self) -> None:
        self.around_models(self._call)

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if id(module) not in self._models:
            self._models[id(module)] = module
            if self.unfreeze:
                for parameter in module.parameters():
                    if not parameter.requires_grad and parameter.is_floating_point():
                        parameter.requires_grad_(True)
                        self.acted += 1
        return original(module, *args, **kwargs)

    def _add(self, optimizer: Optimizer) -> None:
        self._steps += 1
        self._optimizers[id(optimizer)] = optimizer
        if self._steps > self.updates:
            return
        held = {id(parameter) for one in self._optimizers.values() for parameter in parameters_of(one)}
        missing = [
            parameter
            for model in self._models.values()
            for parameter in model.parameters()
            if parameter.requires_grad and id(parameter) not in held
        ]
        if missing:
            self.acted += 1
            optimizer.add_param_group(
                {**{k: v for k, v in optimizer.param_groups[0].items() if k != "params"}, "params": missing}
            )


TREATMENT = AllParams
