"""Step the learning-rate schedule once an epoch, whatever the script does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.optim import lr_scheduler
from torch.utils.data import DataLoader

from traindx.trials.treatment import Treatment


class Scheduler(Treatment):
    """An epoch is one pass over a data loader; without one, nothing can be done here."""

    def attach(self) -> None:
        self._epochs = 0
        self._stepped: dict[int, int] = {}
        self.hub.patch(DataLoader, "__iter__", self._around_loader)
        for kind in {lr_scheduler.LRScheduler, *_kinds()}:
            if "step" in vars(kind):
                self.hub.patch(kind, "step", self._around)

    def _around_loader(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __iter__(loader: Any) -> Any:
            self._epochs += 1
            return original(loader)

        return __iter__

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(scheduler: Any, *args: Any, **kwargs: Any) -> Any:
            if not self._epochs or not getattr(scheduler, "_step_count", 0):
                return original(scheduler, *args, **kwargs)
            if self._stepped.setdefault(id(scheduler), self._epochs) == self._epochs:
                self.acted += 1
                return None
            self._stepped[id(scheduler)] = self._epochs
            return original(scheduler, *args, **kwargs)

        return step


def _kinds() -> list[type]:
    return [
        kind
        for kind in vars(lr_scheduler).values()
        if isinstance(kind, type) and issubclass(kind, lr_scheduler.LRScheduler)
    ]


TREATMENT = Scheduler
