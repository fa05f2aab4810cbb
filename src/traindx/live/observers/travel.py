"""How far the weights have moved from where they began. A rate that is too low, clipping that is too tight or updates that
cancel each other show here whatever a single update looks like: after hundreds of them nothing has gone anywhere."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from statistics import median

import torch
from torch.optim import Optimizer

from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.rows import watchable

MOST = 40  # matrices
SAMPLE = 1024  # elements of each; a sample of this size gives the relative distance within a few percent
SEED = 20240501  # of our own generator: the training's random numbers are not touched

Sampled = tuple[torch.Tensor, torch.Tensor]  # a matrix, and places in it


class Travel(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._watched: dict[int, tuple[list[Sampled], list[torch.Tensor]]] = {}  # by optimiser, with the first values

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if id(optimizer) not in self._watched and self.hub.step < 3:
            generator = torch.Generator().manual_seed(SEED)
            held = [p for group in optimizer.param_groups for p in group["params"]]
            matrices = [p for p in held if p.dim() >= 2 and p.requires_grad and watchable(p)][:MOST]
            sampled = [_sample(p, generator) for p in matrices]
            first: list[torch.Tensor] = []
            self._watched[id(optimizer)] = sampled, first
            if sampled:
                self._later.bring(_values(sampled), lambda values: first.extend(_parts(values, sampled)))

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        watched = self._watched.get(id(optimizer))
        if watched:
            self._look(*watched)
        self._later.poll()

    def _look(self, sampled: list[Sampled], first: list[torch.Tensor]) -> None:
        if sampled:
            self._later.bring(_values(sampled), partial(self._take, self.hub.step, sampled, first))

    def _take(self, step: int, sampled: list[Sampled], first: list[torch.Tensor], now: torch.Tensor) -> None:
        """The middle distance from the first values by their norm; a matrix that began at zero has none."""
        pairs = zip(_parts(now, sampled), first, strict=False)
        distances = [float((new - old).norm() / old.norm()) for new, old in pairs if old.any()]
        if distances:
            self.hub.values.add(step, "weight_travel", median(distances))

    def on_farewell(self) -> None:
        for watched in self._watched.values():
            self._look(*watched)
        self._watched.clear()

    def on_end(self) -> None:
        self.on_farewell()
        self._later.poll(wait=True)


def _sample(matrix: torch.Tensor, generator: torch.Generator) -> Sampled:
    places = torch.randint(matrix.numel(), (min(SAMPLE, matrix.numel()),), generator=generator)
    return matrix, places.to(matrix.device)


def _parts(values: torch.Tensor, sampled: list[Sampled]) -> Sequence[torch.Tensor]:
    return torch.split_with_sizes(values, [len(places) for _, places in sampled])


def _values(sampled: list[Sampled]) -> torch.Tensor:
    device = sampled[0][0].device
    return torch.cat([matrix.detach().reshape(-1)[places].float().to(device) for matrix, places in sampled])


OBSERVER = Travel
