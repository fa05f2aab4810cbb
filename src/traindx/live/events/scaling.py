"""The loss behind a scaled loss: a GradScaler multiplies it by tens of thousands before `backward` is called on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.utils.weak import WeakIdKeyDictionary

_scaled: WeakIdKeyDictionary = WeakIdKeyDictionary()  # scaled loss → the loss itself, as long as the scaled one lives


def around_scale(original: Callable[..., Any]) -> Callable[..., Any]:
    """For `GradScaler.scale`."""

    def scale(scaler: Any, outputs: Any) -> Any:
        result = original(scaler, outputs)
        if isinstance(outputs, torch.Tensor) and isinstance(result, torch.Tensor) and result is not outputs:
            _scaled[result] = outputs
        return result

    return scale


def unscaled(loss: torch.Tensor) -> torch.Tensor:
    """The loss before a GradScaler multiplied it; the loss itself where none did."""
    if not _scaled:
        return loss
    known = _scaled.get(loss)  # type: ignore[no-untyped-call]
    return known if isinstance(known, torch.Tensor) else loss
