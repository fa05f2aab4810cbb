"""Optimisers at whose updates no parameter has a gradient. One that had any is not asked again, so that nearly every
update costs a look into a dict; deep steps alone may miss an optimiser that takes a step now and then."""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Container

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.naming import model_parameters
from traindx.live.instruments.optimizers import built
from traindx.live.measures.rows import watchable
from traindx.measurements import OptimizerGradients

MAX_OPTIMIZERS = 4  # that are written down
MAX_FOLLOWED = (
    80  # graphs that are followed for them, off deep steps too: a critic may take five steps for each of theirs
)
MAX_UPDATES = 10  # of one of them that are counted
MAX_SAMPLED, SAMPLE = 8, 64  # parameters, and elements of each, that are compared to see them move
MAX_NAMES = 4


class _Silent:
    """An optimiser whose parameters had no gradient at the first update that was looked at."""

    def __init__(self, optimizer: torch.optim.Optimizer, number: int) -> None:
        self.number = number
        self.built_at = built.get(optimizer, "")
        self.updates = self.without = self.followed = 0
        self.held = list(_trainable(optimizer))
        self.names: tuple[str, ...] = ()
        sampled = itertools.islice(filter(watchable, self.held), MAX_SAMPLED)
        self._first = [(p, p.detach().flatten()[:SAMPLE].clone()) for p in sampled]

    def name(self, hub: Hub) -> None:
        named = model_parameters(hub)
        self.names = tuple(itertools.islice((named[id(p)][0] for p in self.held if id(p) in named), MAX_NAMES))

    def moved(self) -> bool:
        return any(not torch.equal(p.detach().flatten()[:SAMPLE], first) for p, first in self._first)


class SilentOptimizers:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._fed: dict[int, weakref.ref[torch.optim.Optimizer]] = {}
        self._silent: dict[int, tuple[weakref.ref[torch.optim.Optimizer], _Silent]] = {}
        self._followed = 0  # losses whose graph was followed
        self._to_follow = 0

    def wants_graph(self) -> bool:
        """Whether the next loss is to be followed to the parameters it reaches although the step is not deep."""
        return self._to_follow > 0

    def followed(self) -> None:
        self._followed += 1
        self._to_follow = max(self._to_follow - 1, 0)

    def at_update(self, optimizer: torch.optim.Optimizer) -> None:
        fed = self._fed.get(id(optimizer))
        if fed is not None and fed() is optimizer:
            return
        one = self._known(optimizer)
        has_gradient = any(p.grad is not None for p in _trainable(optimizer))
        if one is None and not has_gradient:
            one = self._meet(optimizer)
        if has_gradient or (one is not None and one.updates >= MAX_UPDATES):
            self._settle(optimizer)
        if one is not None and (has_gradient or self._followed > one.followed):
            one.updates += 1
            one.without += not has_gradient
            one.followed = self._followed
            if not one.names:
                one.name(self._hub)  # while the model is there: in the end it may be gone

    def _settle(self, optimizer: torch.optim.Optimizer) -> None:
        """It need not be asked again, and no graph be followed where it was the last to wait for one."""
        self._fed[id(optimizer)] = weakref.ref(optimizer)
        if self._silent.keys() <= self._fed.keys():
            self._to_follow = 0

    def _known(self, optimizer: torch.optim.Optimizer) -> _Silent | None:
        reference, one = self._silent.get(id(optimizer), (None, None))
        return one if reference is not None and reference() is optimizer else None

    def _meet(self, optimizer: torch.optim.Optimizer) -> _Silent | None:
        if len(self._silent) >= MAX_OPTIMIZERS or next(_trainable(optimizer), None) is None:
            return None
        one = _Silent(optimizer, len(self._silent))
        one.followed = self._followed  # losses before this update may have gone unseen
        self._silent[id(optimizer)] = (weakref.ref(optimizer), one)
        self._to_follow = MAX_FOLLOWED
        return one

    def measure(self, reached: Container[int], called: set[int], muted: set[int]) -> None:
        for _, one in self._silent.values():
            if one.updates:
                self._hub.measure(
                    OptimizerGradients(
                        number=one.number,
                        updates=one.updates,
                        without=one.without,
                        parameters=len(one.held),
                        weights=sum(p.numel() for p in one.held),
                        names=one.names,
                        reached=sum(id(p) in reached for p in one.held),
                        running=sum(id(p) in called for p in one.held),
                        muted=sum(id(p) in muted and id(p) not in called for p in one.held),
                        moved=one.moved(),
                        where=one.built_at,
                    )
                )

    def clear(self) -> None:
        self._fed.clear()
        self._silent.clear()
        self._to_follow = 0


def _trainable(optimizer: torch.optim.Optimizer) -> itertools.chain[torch.Tensor]:
    return itertools.chain.from_iterable(
        (p for p in group["params"] if p.requires_grad) for group in optimizer.param_groups
    )
