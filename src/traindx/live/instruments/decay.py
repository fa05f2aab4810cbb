"""Measures what weight decay leaves of the weights."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.norms import norms_of
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import DecayedWeights

NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm)
MAX_MATRICES = 40


class Decay(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._watched: dict[int, tuple[float, list[torch.Tensor], list[float]]] = {}  # decay, matrices, initial norms

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if not self.hub.deep:
            return
        known = self._watched.get(id(optimizer))
        if known is None:
            decay, matrices = _decayed(optimizer)
            self._watched[id(optimizer)] = (decay, matrices, [])
            self._ask(matrices, self._watched[id(optimizer)][2].extend)
        else:
            self._ask(known[1], self._measure(known[0], known[2]))
        self._copies.poll()

    def _ask(self, matrices: list[torch.Tensor], then: Callable[[list[float]], None]) -> None:
        norms = norms_of([p.detach() for p in matrices])
        if norms is not None:
            self._copies.ask(norms, then)

    def _measure(self, decay: float, first: list[float]) -> Callable[[list[float]], None]:
        def measure(now: list[float]) -> None:
            ratios = tuple(after / before for before, after in zip(first, now, strict=False) if before > 0)
            if ratios:
                normalised = any(
                    isinstance(one, NORMS) for model in self.hub.models.values() for one in model.modules()
                )
                self.hub.measure(DecayedWeights(decay=decay, ratios=ratios, normalised=normalised))

        return measure

    def on_models_freed(self) -> None:
        for decay, matrices, first in self._watched.values():
            if self.hub.step >= 3:
                self._ask(matrices, self._measure(decay, first))
        self._watched.clear()

    def on_end(self) -> None:
        self.on_models_freed()
        self._copies.poll(wait=True)


def _decayed(optimizer: Optimizer) -> tuple[float, list[torch.Tensor]]:
    """The largest weight decay and the matrices under any."""
    strongest, matrices = 0.0, []
    for group in optimizer.param_groups:
        decay = group.get("weight_decay", 0)
        if isinstance(decay, int | float) and decay > 0:
            strongest = max(strongest, float(decay))
            matrices += [p for p in group["params"] if p.dim() >= 2 and p.requires_grad and watchable(p)]
    return strongest, matrices[:MAX_MATRICES]


OBSERVER = Decay
