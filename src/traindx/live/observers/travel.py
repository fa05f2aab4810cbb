"""How far the weights have moved from where they began. A rate that is too low, clipping that is too tight or updates that
cancel each other show here whatever a single update looks like: after hundreds of them nothing has gone anywhere."""

from __future__ import annotations

from collections.abc import Callable
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


class Travel(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._watched: dict[
            int, list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]
        ] = {}  # matrix, places, first values

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if id(optimizer) not in self._watched and self.hub.step < 3:
            generator = torch.Generator().manual_seed(SEED)
            held = [p for group in optimizer.param_groups for p in group["params"]]
            matrices = [p for p in held if p.dim() >= 2 and p.requires_grad and watchable(p)][:MOST]
            self._watched[id(optimizer)] = [_sample(p, generator) for p in matrices]

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        watched = self._watched.get(id(optimizer))
        if watched:
            self._later.ask(_distances(watched), self._taker(self.hub.step))
        self._later.poll()

    def _taker(self, step: int) -> Callable[[list[float]], None]:
        def take(distances: list[float]) -> None:
            known = [distance for distance in distances if distance >= 0]
            if known:
                self.hub.values.add(step, "weight_travel", median(known))

        return take

    def on_farewell(self) -> None:
        for watched in self._watched.values():
            if watched:
                self._later.ask(_distances(watched), self._taker(self.hub.step))
        self._watched.clear()

    def on_end(self) -> None:
        self.on_farewell()
        self._later.poll(wait=True)


def _sample(matrix: torch.Tensor, generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    places = torch.randint(matrix.numel(), (min(SAMPLE, matrix.numel()),), generator=generator).to(matrix.device)
    return matrix, places, matrix.detach().reshape(-1)[places].float()


def _distances(watched: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]) -> torch.Tensor:
    """The distance from the first values by their norm, for each matrix; -1 for one that began at zero."""
    found = []
    for matrix, places, first in watched:
        size = first.norm()
        moved = (matrix.detach().reshape(-1)[places].float() - first).norm()
        found.append(torch.where(size > 0, moved / size.clamp(min=1e-30), torch.full_like(size, -1.0)))
    return torch.stack(found)


OBSERVER = Travel
