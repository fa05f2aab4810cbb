"""Whether weight decay shrinks the weights away."""

from __future__ import annotations

from collections.abc import Callable
from statistics import median

import torch
from torch.optim import Optimizer

from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.norms import norms_of
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.rows import watchable

SHRUNK = 0.3  # of the initial norm; without norm layers the output shrinks with every one of them
SHRUNK_NORMED = 0.03  # where a norm layer follows, the size of the weights does not matter
PLAIN = 0.1
WEAK = 0.01  # a decay below this shrinks weights only where nothing else moves them
NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm)
MOST = 40  # matrices
NEWS = 0.5  # a further fall by this factor is told again


class Decay(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._watched: dict[int, tuple[float, list[torch.Tensor], list[float]]] = {}  # decay, matrices, initial norms
        self._told: float | None = None

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
            self._ask(known[1], self._judge(known[0], known[2]))
        self._later.poll()

    def _ask(self, matrices: list[torch.Tensor], then: Callable[[list[float]], None]) -> None:
        norms = norms_of([p.detach() for p in matrices])
        if norms is not None:
            self._later.ask(norms, then)

    def _judge(self, decay: float, first: list[float]) -> Callable[[list[float]], None]:
        def judge(now: list[float]) -> None:
            ratios = [after / before for before, after in zip(first, now, strict=False) if before > 0]
            if not ratios:
                return
            middle = median(ratios)
            normed = any(isinstance(layer, NORMS) for model in self.hub.models.values() for layer in model.modules())
            shrunk = decay >= WEAK and middle < (SHRUNK_NORMED if normed else SHRUNK)
            if self._told is not None and not (shrunk and middle < NEWS * self._told):
                return
            self._told = middle if shrunk else 1.0
            self.hub.fact(
                "weights-decayed-away", shrunk,
                f"Under a weight decay of {decay:g} the middle of {len(ratios)} weight matrices is at {middle * 100:.2g} % of its initial "
                "norm.", clarity=1.0 if middle < PLAIN else 0.8,
            )  # fmt: skip

        return judge

    def on_farewell(self) -> None:
        for decay, matrices, first in self._watched.values():
            if self.hub.step >= 3:
                self._ask(matrices, self._judge(decay, first))
        self._watched.clear()

    def on_end(self) -> None:
        self.on_farewell()
        self._later.poll(wait=True)


def _decayed(optimizer: Optimizer) -> tuple[float, list[torch.Tensor]]:
    """The largest weight decay and the matrices under any."""
    strongest, matrices = 0.0, []
    for group in optimizer.param_groups:
        decay = group.get("weight_decay", 0)
        if isinstance(decay, int | float) and decay > 0:
            strongest = max(strongest, float(decay))
            matrices += [p for p in group["params"] if p.dim() >= 2 and p.requires_grad and watchable(p)]
    return strongest, matrices[:MOST]


OBSERVER = Decay
