"""Single precision throughout: no autocast, no loss scaling, weights in fp32."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakSet

import torch

from traindx.trials.treatment import Treatment

HALF = (torch.float16, torch.bfloat16)


class Precision(Treatment):
    def attach(self) -> None:
        if self.setting.value not in ("fp32", "on"):
            raise ValueError("precision can be set to fp32")
        self._seen: WeakSet[torch.nn.Module] = WeakSet()
        self.hub.patch(torch.amp.autocast_mode.autocast, "__init__", self._around_autocast)
        self.hub.patch(torch.amp.grad_scaler.GradScaler, "__init__", self._around_scaler)
        self.around_models(self._call)

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
        args = tuple(arg.float() if isinstance(arg, torch.Tensor) and arg.dtype in HALF else arg for arg in args)
        return original(module, *args, **kwargs)


TREATMENT = Precision
