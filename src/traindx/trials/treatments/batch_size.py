"""The batch size of every DataLoader: a number, or 'x2' to scale it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

from traindx.trials.treatment import Treatment


class BatchSize(Treatment):
    def attach(self) -> None:
        self.hub.patch(DataLoader, "__init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(loader: Any, dataset: Any, batch_size: Any = 1, *args: Any, **kwargs: Any) -> None:
            if isinstance(batch_size, int) and kwargs.get("batch_sampler") is None:
                self.acted += 1
                batch_size = max(1, int(self.setting.number(batch_size)))
            original(loader, dataset, batch_size, *args, **kwargs)

        return __init__


TREATMENT = BatchSize
