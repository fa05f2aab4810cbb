"""Measures how often the loss of one network goes through another one that is not updated with it.

Networks that train each other do so. Their losses are not meant to fall, so that the curves of a GAN must not be judged
like those of other trainings.
"""

from __future__ import annotations

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.events.naming import optimized
from traindx.live.instruments.optimizers import built
from traindx.live.measures.graph import graph_of
from traindx.measurements import SharedLosses

MAX_LOOKS = 16  # losses looked at


class Adversaries(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._looks = 0
        self._reached: set[int] = set()  # parameters the losses since the last update go through
        self._updated: set[int] = set()  # optimisers that have made an update
        self._used: dict[int, int] = {}  # times an optimiser's parameters were used by a loss that updated another one
        self._done = False

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done or len(built) < 2:
            return
        self._looks += 1
        self._done = self._looks >= MAX_LOOKS
        self._reached |= {id(leaf) for leaf in graph_of(loss).leaves}

    def on_updated(self, optimizer: Optimizer) -> None:
        if self._done or not self._reached:
            return
        self._updated.add(id(optimizer))
        reached, self._reached = self._reached, set()
        mine = optimized([optimizer]).keys()
        if not mine & reached:
            return
        for other in list(built):
            theirs = optimized([other]).keys()
            if other is not optimizer and not theirs & mine and len(theirs & reached) > len(theirs) / 2:
                self._used[id(other)] = self._used.get(id(other), 0) + 1
        self.hub.measure(SharedLosses(updated=len(self._updated), used=tuple(self._used.values())))


OBSERVER = Adversaries
