"""Whether tensors that the graph saves are packed away by hooks of the user: those are not ours to call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from traindx.live.events.hub import Hub


class Packing:
    """`seen` turns true with the first hook of that kind and stays so: graphs made before may live on."""

    def __init__(self, hub: Hub) -> None:
        self.seen = False
        self._hub = hub

    def attach(self) -> None:
        self._hub.patch(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            self.seen = True
            return original(context)

        return __enter__
