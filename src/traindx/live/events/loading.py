"""How long each batch of a data loader is waited for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from traindx.live.host.patches import shielded

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub


class Timed:
    """A loader's iterator that notes how long each batch was waited for."""

    def __init__(self, hub: Hub, loader: Any, iterator: Any) -> None:
        self._hub, self._loader, self._iterator = hub, loader, iterator
        self._look, self._batch = shielded(hub.look_for_update, hub.fault), shielded(hub.batch, hub.fault)

    def __iter__(self) -> Timed:
        return self

    def __next__(self) -> Any:
        if self._hub.by_hand.pending:
            self._look()
        began = time.perf_counter()
        batch = next(self._iterator)
        self._batch(batch, self._loader, time.perf_counter() - began)
        return batch

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)
