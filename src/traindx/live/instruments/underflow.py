"""Measures how small the numbers of float16 gradients are: below the smallest normal number they lose their digits, and
soon they are zero."""

from __future__ import annotations

from functools import partial

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import HalfGradients

MAX_MATRICES = 8
MAX_NUMBERS = 4096  # of each that are looked at, spread evenly
NORMAL = torch.finfo(torch.float16).smallest_normal


class Underflow(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._zero: list[float] = []
        self._tiny: list[float] = []

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if not self.hub.deep:
            return
        gradients = [
            p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None and p.dim() > 1
        ]
        half = [one for one in gradients if one.dtype == torch.float16 and not one.is_sparse]
        if not half:
            return
        chosen = half[:: max(1, len(half) // MAX_MATRICES)][:MAX_MATRICES]
        few = [one.detach().reshape(-1)[:: max(1, one.numel() // MAX_NUMBERS)][:MAX_NUMBERS] for one in chosen]
        sizes = torch.cat([one.float() for one in few]).abs()
        counts = torch.stack([(sizes == 0).float().mean(), ((sizes > 0) & (sizes < NORMAL)).float().mean()])
        self._copies.ask(counts, partial(self._measure, len(half)))

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _measure(self, matrices: int, shares: list[float]) -> None:
        self._zero.append(shares[0])
        self._tiny.append(shares[1])
        looks = len(self._zero)
        self.hub.measure(
            HalfGradients(looks=looks, matrices=matrices, zero=sum(self._zero) / looks, tiny=sum(self._tiny) / looks)
        )


OBSERVER = Underflow
