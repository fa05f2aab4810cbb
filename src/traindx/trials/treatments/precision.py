"""Single precision throughout: no autocast, no loss scaling, weights in fp32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.treatment import Treatment

HALF = (torch.float16, torch.bfloat16)
# losses that take floating targets, which a script makes half as it does its model; some refuse two precisions at once
WITH_FLOATS = (
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "kl_div",
)  # fmt: skip


class Precision(Treatment):
    def attach(self) -> None:
        if self.setting.value not in ("fp32", "on"):
            raise ValueError("precision can be set to fp32")
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.hub.patch(torch.amp.autocast_mode.autocast, "__init__", self._around_autocast)
        self.hub.patch(torch.amp.grad_scaler.GradScaler, "__init__", self._around_scaler)
        self.around_models(self._call)
        self.around_criteria(self._whole, *WITH_FLOATS)

    def _around_autocast(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(
            context: Any, device_type: str, dtype: Any = None, enabled: bool = True, *args: Any, **kwargs: Any
        ) -> None:
            self.acted += enabled
            original(context, device_type, dtype, False, *args, **kwargs)

        return __init__

    def _around_scaler(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(scaler: Any, *args: Any, **kwargs: Any) -> None:
            kwargs["enabled"] = False
            original(scaler, *args[:5], **kwargs)

        return __init__

    def _call(
        self, original: Callable[..., Any], module: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if module not in self._seen:
            self._seen.add(module)
            if any(parameter.dtype in HALF for parameter in module.parameters()):
                self.acted += 1
                module.float()
        return original(module, *map(_single, args), **kwargs)

    def _whole(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return tuple(map(_single, args)), {key: _single(value) for key, value in kwargs.items()}


def _single(value: Any) -> Any:
    return value.float() if isinstance(value, torch.Tensor) and value.dtype in HALF else value


TREATMENT = Precision
