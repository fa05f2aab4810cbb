"""How long each batch of a data loader is waited for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from traindx.live.host.patches import ShieldedIterator

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub


def timed(hub: Hub, loader: Any, iterator: Any) -> ShieldedIterator:
    """A loader's iterator that notes how long each batch was waited for."""

    def before() -> float:
        if hub.by_hand.pending:
            hub.look_for_update()
        return time.perf_counter()

    def after(batch: Any, began: float | None) -> None:
        if began is not None:
            hub.batch(batch, loader, time.perf_counter() - began)

    return ShieldedIterator(iterator, before, after, hub.fault)
