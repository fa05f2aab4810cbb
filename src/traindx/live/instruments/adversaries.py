"""Measures how often the loss of one network goes through another one that is not updated with it, or how often another
one is switched off for its update, and goes on afterwards.

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

MAX_LOOKS = 16  # losses looked at, and as many more as it takes
ROUNDS = 4  # until every optimiser has made so many updates: a critic makes several to one of its generator
MOST_LOOKS = 96


class Adversaries(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._looks = 0
        self._reached: set[int] = set()  # parameters the losses since the last update go through
        self._updates: dict[int, int] = {}  # by optimiser
        self._off: set[int] = set()  # optimisers whose parameters were switched off while another made its update
        self._used: dict[int, int] = {}  # times an optimiser's parameters were used by a loss that updated another one
        self._done = False

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done or len(built) < 2:
            return
        self._looks += 1
        self._done = self._looks > MOST_LOOKS or (self._looks > MAX_LOOKS and self._seen_all)
        self._reached |= {id(leaf) for leaf in graph_of(loss).leaves}

    @property
    def _seen_all(self) -> bool:
        return all(self._updates.get(id(one), 0) >= ROUNDS for one in list(built))

    def on_updated(self, optimizer: Optimizer) -> None:
        if self._done or not self._reached:
            return
        self._updates[id(optimizer)] = self._updates.get(id(optimizer), 0) + 1
        self._take_turns(optimizer)
        reached, self._reached = self._reached, set()
        mine = optimized([optimizer]).keys()
        if not mine & reached:
            return
        for other in list(built):
            theirs = optimized([other]).keys()
            if other is not optimizer and not theirs & mine and len(theirs & reached) > len(theirs) / 2:
                self._used[id(other)] = self._used.get(id(other), 0) + 1
        self.hub.measure(SharedLosses(updated=len(self._updates), used=tuple(self._used.values())))

    def _take_turns(self, optimizer: Optimizer) -> None:
        """A critic that requires no gradient while its generator is updated stands in no graph; that it goes on later
        tells it from a network that was trained first and frozen then."""
        mine = id(optimizer)
        if mine in self._off:
            self._off.discard(mine)
            self._used[mine] = self._used.get(mine, 0) + 1
        for other in list(built):
            if other is not optimizer and id(other) in self._updates and not _required(other):
                self._off.add(id(other))


def _required(optimizer: Optimizer) -> bool:
    return any(p.requires_grad for group in optimizer.param_groups for p in group["params"])


OBSERVER = Adversaries
