"""Measures what Keras on torch knows of a model's loss, without our callback: the loss itself is computed in operations
of its own, which no loss function of torch shows."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.integrations.keras_loss import declared_loss

MODULE = "keras.src.backend.torch.trainer"


class KerasLosses(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._known = 0  # id of the model that was asked last

    def attach(self) -> None:
        self.hub.after_import(MODULE, self._patch)

    def _patch(self) -> None:
        kind = getattr(sys.modules.get(MODULE), "TorchTrainer", None)
        if isinstance(kind, type) and "train_step" in vars(kind):
            self.hub.patch(kind, "train_step", self._around_step)

    def _around_step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def train_step(model: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(model, *args, **kwargs)
            if self._known != id(model) and not self.hub.inside:  # after a step it is built
                self._known = id(model)
                self._tell(model)
            return result

        return train_step

    def _tell(self, model: Any) -> None:
        """A fault here must not reach the training: what cannot be read is left out."""
        try:
            declared = declared_loss(model)
        except Exception:  # of a model of the user's own
            return
        if declared is not None:
            self.hub.measure(declared)


OBSERVER = KerasLosses
