"""Load data in so many worker processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils.data import DataLoader

from traindx.trials.treatment import Treatment


class Workers(Treatment):
    def attach(self) -> None:
        self.hub.patch(DataLoader, "__init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(loader: Any, *args: Any, **kwargs: Any) -> None:
            if len(args) <= 5:
                self.acted += 1
                kwargs["num_workers"] = int(self.setting.number(kwargs.get("num_workers", 0)))
                kwargs["persistent_workers"] = kwargs["num_workers"] > 0
            original(loader, *args, **kwargs)

        return __init__


TREATMENT = Workers
