"""Measures how small the numbers of float16 gradients are: below the smallest normal number they lose their digits, and
soon they are zero. Under autocast they are float32 by the time they arrive, with only the digits of a float16."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import HalfGradients

MAX_MATRICES = 8
MAX_NUMBERS = 4096  # of each that are looked at, spread evenly
NORMAL = torch.finfo(torch.float16).smallest_normal
PASSED = 0.99  # of the numbers that a float16 holds exactly: they have been one


class Underflow(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._zero: list[float] = []
        self._tiny: list[float] = []
        self._autocast = False  # a layer has given float16

    @on_deep_steps
    def on_module(self, module: torch.nn.Module, name: str, args: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor) and output.dtype == torch.float16:
            self._autocast = True

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if not self.hub.deep:
            return
        gradients = [
            p.grad for group in optimizer.param_groups for p in group["params"] if p.grad is not None and p.dim() > 1
        ]
        kinds = (torch.float16, torch.float32) if self._autocast else (torch.float16,)
        half = [one for one in gradients if one.dtype in kinds and not one.is_sparse]
        if not half:
            return
        chosen = half[:: max(1, len(half) // MAX_MATRICES)][:MAX_MATRICES]
        few = [one.detach().reshape(-1)[:: max(1, one.numel() // MAX_NUMBERS)][:MAX_NUMBERS].float() for one in chosen]
        counts = torch.stack([_counted(one) for one in few])
        self._copies.ask(counts.reshape(-1), partial(self._measure, len(half), [one.numel() for one in few]))

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _measure(self, matrices: int, sizes: list[int], counts: list[float]) -> None:
        passed = [place for place, size in enumerate(sizes) if counts[3 * place + 2] >= PASSED * size]
        numbers = sum(sizes[place] for place in passed)
        if not numbers:
            return
        self._zero.append(sum(counts[3 * place] for place in passed) / numbers)
        self._tiny.append(sum(counts[3 * place + 1] for place in passed) / numbers)
        looks = len(self._zero)
        self.hub.measure(
            HalfGradients(looks=looks, matrices=matrices, zero=sum(self._zero) / looks, tiny=sum(self._tiny) / looks)
        )


def _counted(numbers: torch.Tensor) -> torch.Tensor:
    """How many are zero, how many below the smallest normal float16, and how many a float16 holds exactly."""
    sizes = numbers.abs()
    kinds = (sizes == 0, (sizes > 0) & (sizes < NORMAL), numbers.half().float() == numbers)
    return torch.stack([kind.sum() for kind in kinds]).float()


OBSERVER = Underflow
