"""Tells which optimiser of Keras updates the weights, and at which rate. On the torch backend those are no optimisers
of torch: without this they are loops written by hand, whose rate nobody knows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer

MODULE = "keras.src.optimizers.base_optimizer"
NUMBERS = ("weight_decay", "momentum", "epsilon", "clipnorm", "global_clipnorm", "clipvalue")


class KerasOptimizers(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._known = 0  # id of the optimiser that was reported last
        self._clipping: dict[str, float] = {}

    def attach(self) -> None:
        self.hub.after_import(MODULE, self._patch)

    def _patch(self) -> None:
        kind = getattr(sys.modules.get(MODULE), "BaseOptimizer", None)
        if isinstance(kind, type) and "apply" in vars(kind):
            self.hub.patch(kind, "apply", self._around_apply)

    def _around_apply(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def apply(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if not self.hub.inside:
                self._tell(optimizer)
            return original(optimizer, *args, **kwargs)

        return apply

    def _tell(self, optimizer: Any) -> None:
        """A fault here must not reach the training: what cannot be read is not reported."""
        settings = self.hub.by_hand.settings
        try:
            if self._known != id(optimizer):
                self._known = id(optimizer)
                settings.clear()
                settings.update(_settings(optimizer))
            rate = _rate(optimizer)
        except Exception:  # of an optimiser of the user's own
            return
        if rate is not None:
            settings["lr"] = rate


def _settings(optimizer: Any) -> dict[str, Any]:
    found: dict[str, Any] = {"name": type(optimizer).__name__}
    for name in NUMBERS:
        value = getattr(optimizer, name, None)
        if isinstance(value, int | float) and not isinstance(value, bool):
            found["eps" if name == "epsilon" else name] = value
    betas = tuple(getattr(optimizer, name, None) for name in ("beta_1", "beta_2"))
    if all(isinstance(one, float) for one in betas):
        found["betas"] = betas
    return found


def _rate(optimizer: Any) -> float | None:
    """That of the next update, where it lies in host memory: on a device to read it would be to wait."""
    value = getattr(getattr(optimizer, "_learning_rate", None), "value", None)
    if value is None:  # a schedule, of the number of updates
        value = optimizer.learning_rate
    on_host = getattr(getattr(value, "device", None), "type", "cpu") == "cpu"
    return float(f"{float(value):.6g}") if on_host else None


OBSERVER = KerasOptimizers
