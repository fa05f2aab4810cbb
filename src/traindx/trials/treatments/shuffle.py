"""Shuffle the data of every DataLoader that has no sampler of its own."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader, IterableDataset

from traindx.trials.treatment import Treatment


class Shuffle(Treatment):
    def attach(self) -> None:
        self.hub.patch(DataLoader, "__init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(
            loader: Any, dataset: Any, batch_size: Any = 1, shuffle: Any = None, *args: Any, **kwargs: Any
        ) -> None:
            own = args or kwargs.get("sampler") is not None or kwargs.get("batch_sampler") is not None
            if not own and not shuffle and not isinstance(dataset, IterableDataset):
                self.acted += 1
                shuffle = True
            original(loader, dataset, batch_size, shuffle, *args, **kwargs)

        return __init__


TREATMENT = Shuffle
