"""What a treatment is: a change made at run time, inside the training, where the recorder looks on.

One module a treatment in `treatments/`; a module that defines TREATMENT is registered by being there, under the name of
its file. Treatments wrap torch outside the recorder's own wrappers, so that the recording shows the treated training.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch.nn.modules.loss import _Loss
from torch.optim import Optimizer
from torch.optim import optimizer as torch_optimizer
from torch.utils.hooks import RemovableHandle

from traindx.live.events.hub import Hub
from traindx.trials.setting import Setting


class Treatment:
    """Override what is needed. `acted` counts what was really changed: a treatment that never acted proves nothing."""

    hub: Hub

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.acted = 0
        self.hooks: list[RemovableHandle] = []

    def before_recorder(self) -> None:
        """Hooks of optimiser steps that must come before the recorder's."""

    def attach(self) -> None:
        """Patches around those of the recorder."""

    def before_step(self, hook: Callable[[Optimizer], None]) -> None:
        """Call this with every optimiser that is about to update (to be used in `before_recorder`)."""
        self.hooks.append(
            torch_optimizer.register_optimizer_step_pre_hook(lambda optimizer, args, kwargs: hook(optimizer))
        )

    def after_step(self, hook: Callable[[Optimizer], None]) -> None:
        self.hooks.append(
            torch_optimizer.register_optimizer_step_post_hook(lambda optimizer, args, kwargs: hook(optimizer))
        )

    def around_criteria(
        self, change: Callable[[str, tuple[Any, ...], dict[str, Any]], tuple[tuple[Any, ...], dict[str, Any]]],
        *names: str
    ) -> None:  # fmt: skip
        """Give loss functions other arguments than the script does."""
        for name in names:

            def around(original: Callable[..., Any], name: str = name) -> Callable[..., Any]:
                def criterion(*args: Any, **kwargs: Any) -> Any:
                    if self.hub.inside:
                        return original(*args, **kwargs)
                    args, kwargs = change(name, args, kwargs)
                    return original(*args, **kwargs)

                return criterion

            self.hub.patch(torch.nn.functional, name, around)

    def around_method(self, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
        """Stand before a method of tensors that they inherit, so that taking it away gives the inherited one back."""
        setattr(torch.Tensor, name, around(getattr(torch.Tensor, name)))
        self.hub.patches.add(partial(delattr, torch.Tensor, name))

    def around_models(
        self, call: Callable[[Callable[..., Any], torch.nn.Module, tuple[Any, ...], dict[str, Any]], Any]
    ) -> None:
        """Stand between the script and every whole model it calls; layers inside and losses are left alone."""
        depth = 0

        def around(original: Callable[..., Any]) -> Callable[..., Any]:
            def __call__(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
                nonlocal depth
                if depth or self.hub.inside or isinstance(module, _Loss):
                    return original(module, *args, **kwargs)
                depth += 1
                try:
                    return call(original, module, args, kwargs)
                finally:
                    depth -= 1

            return __call__

        self.hub.patch(torch.nn.Module, "__call__", around)


def build(setting: Setting) -> Treatment:
    """The treatment of a setting; its value is checked here, before any training."""
    kind: type[Treatment] = importlib.import_module(f"traindx.trials.treatments.{setting.name}").TREATMENT
    return kind(setting)


def parameters_of(optimizer: Optimizer) -> list[torch.nn.Parameter]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]
