"""Measures how far the weights have moved from where they began, and how they were distributed there. A rate that is
too low, clipping that is too tight or updates that cancel each other show here whatever a single update looks like:
after hundreds of them nothing has gone anywhere."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from statistics import median

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import InitialWeights

MAX_MATRICES = 40
SAMPLE = 1024  # elements of each; a sample of this size gives the relative distance within a few percent
MIN_ELEMENTS = 100  # for a kurtosis


class Travel(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        # matrices by optimiser, and their first values
        self._watched: dict[int, tuple[list[torch.Tensor], list[torch.Tensor]]] = {}

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if id(optimizer) not in self._watched and self.hub.step < 3:
            held = [p for group in optimizer.param_groups for p in group["params"]]
            matrices = [p for p in held if p.dim() >= 2 and p.requires_grad and watchable(p)][:MAX_MATRICES]
            first: list[torch.Tensor] = []
            self._watched[id(optimizer)] = matrices, first
            if matrices:
                taken = sampled(matrices)
                self._copies.to_host(torch.cat(taken), lambda values: self._begin(first, _parts(values, taken)))

    def _begin(self, first: list[torch.Tensor], parts: Sequence[torch.Tensor]) -> None:
        first.extend(parts)
        known = [part for part in parts if len(part) >= MIN_ELEMENTS]
        if known:
            self.hub.measure(
                InitialWeights(kurtosis=tuple(map(_kurtosis, known)), elements=tuple(len(part) for part in known))
            )

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        watched = self._watched.get(id(optimizer))
        if watched:
            self._look(*watched)
        self._copies.poll()

    def _look(self, matrices: list[torch.Tensor], first: list[torch.Tensor]) -> None:
        if matrices:
            self._copies.to_host(torch.cat(sampled(matrices)), partial(self._take, self.hub.step, first))

    def _take(self, step: int, first: list[torch.Tensor], now: torch.Tensor) -> None:
        """The median distance from the first values by their norm; a matrix that began at zero has none."""
        pairs = zip(_parts(now, first), first, strict=True) if first else ()
        distances = [float((new - old).norm() / old.norm()) for new, old in pairs if old.any()]
        if distances:
            self.hub.values.add(step, "weight_travel", median(distances))

    def on_models_freed(self) -> None:
        for watched in self._watched.values():
            self._look(*watched)
        self._watched.clear()

    def on_end(self) -> None:
        self.on_models_freed()
        self._copies.poll(wait=True)


def sampled(matrices: list[torch.Tensor]) -> list[torch.Tensor]:
    """Elements of each, spread evenly, on the device of the first: a slice needs no operation that a GPU would have to
    load."""
    device = matrices[0].device
    return [one.detach().reshape(-1)[:: _stride(one)][:SAMPLE].float().to(device) for one in matrices]


def _kurtosis(values: torch.Tensor) -> float:
    z = (values - values.mean()) / values.std(correction=min(1, values.numel() - 1))
    kurtosis = float(z.pow(4).mean())
    return kurtosis if math.isfinite(kurtosis) else 0.0


def _stride(matrix: torch.Tensor) -> int:
    """From one element to the next, so that every column has its turn."""
    stride = max(1, matrix.numel() // SAMPLE)
    while math.gcd(stride, matrix.shape[-1]) > 1:
        stride -= 1
    return stride


def _parts(values: torch.Tensor, like: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    return torch.split_with_sizes(values, [len(one) for one in like])


OBSERVER = Travel
