"""A process that forks off the training, such as a data-loader worker, is not the training."""

from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

_hubs: weakref.WeakSet[Hub] = weakref.WeakSet()


def leave_children_alone(hub: Hub) -> None:
    _hubs.add(hub)


def _end_all() -> None:
    for hub in _hubs:
        hub.ended = True
        if hub.aside is not None:
            hub.aside.step_aside()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_end_all)
