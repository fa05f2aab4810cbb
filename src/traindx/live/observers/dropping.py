"""Dropout that is called as a function: no layer tells its rate, but the graph keeps the mask that it multiplied with."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from traindx.live.autopsy import nodes
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.nodes import kind_of
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.observers.phases import MOST_DROPPED
from traindx.live.packing import Packing
from traindx.live.rows import watchable

LOOKS = 2
MOST_NODES = 4000
LEAST = 256  # numbers of a mask, from which the share of zeros tells the rate
NEAR = 0.05  # between that share and the rate that the other numbers stand for


class Dropping(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._packing = Packing(hub)
        self._looks = 0

    def attach(self) -> None:
        self._packing.attach()

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._looks >= LOOKS or loss.grad_fn is None or self._packing.seen or not watchable(loss.detach()):
            return
        self._looks += 1
        masks = [mask for node in nodes(loss.grad_fn, MOST_NODES) if (mask := _mask(node)) is not None]
        if masks:
            self._later.ask(torch.stack([_told(mask) for mask in masks]).flatten(), partial(self._judge, len(masks)))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._later.poll()

    def on_end(self) -> None:
        self._later.poll(wait=True)

    def _judge(self, count: int, numbers: list[float]) -> None:
        rates = []
        for place in range(count):
            zeros, low, high = numbers[3 * place : 3 * place + 3]
            if low == high > 1 and abs(zeros - (1 - 1 / high)) < NEAR:
                rates.append(1 - 1 / high)
        rate = max(rates, default=0.0)
        if rate >= MOST_DROPPED and "dropout-drops-most" not in self.hub.found:
            self.hub.config(dropout=rate)
            text = f"The strongest dropout, called as a function, drops {rate:.0%} of its inputs."
            self.hub.fact("dropout-drops-most", True, text)


def _mask(node: Any) -> torch.Tensor | None:
    """What is not learnt and multiplies something of its own shape."""
    if kind_of(node) != "Mul" or len(node.next_functions) != 2 or node.next_functions[1][0] is not None:
        return None
    other = node._saved_other
    fits = isinstance(other, torch.Tensor) and other.is_floating_point() and other.numel() >= LEAST and watchable(other)
    return other.detach() if fits else None


def _told(mask: torch.Tensor) -> torch.Tensor:
    """The share of zeros, and the smallest and the largest of the other numbers."""
    numbers = mask.flatten()[: 64 * LEAST].float()
    off = numbers == 0
    low = torch.where(off, torch.inf, numbers).amin()
    return torch.stack([off.float().mean(), low, numbers.amax()])


OBSERVER = Dropping
