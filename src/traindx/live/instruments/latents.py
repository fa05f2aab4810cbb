"""Measures the code of a variational autoencoder: how far its means differ from sample to sample, and how wide it is.

The graph of the loss shows it: a mean plus noise times the exp of something, and the square of that mean in the
divergence from the prior. Both numbers are kept there for `backward`."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.autopsy import nodes
from traindx.live.measures.nodes import kind_of
from traindx.live.measures.packing import Packing
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import LatentCode

MAX_NODES = 4000  # of a graph
FIRST_LOOKS = 3  # without such a code, after which none is looked for
LATER = 50  # the step of the first look after those,
GROWTH = 1.25  # and how much farther each of the next is
MAX_DIMENSIONS = 32  # of the code that are written down
NEAR = 4  # operations between the mean and its square: a prior may be subtracted and divided by


class Latents(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._packing = Packing(hub)
        self._tries = 0
        self._looks = 0
        self._due = 0  # the step of the next look

    def attach(self) -> None:
        self._packing.attach()

    def on_backward(self, loss: torch.Tensor) -> None:
        if self.hub.step < self._due or (not self._looks and self._tries >= FIRST_LOOKS):
            return
        if loss.grad_fn is None or self._packing.seen or not watchable(loss.detach()):
            return
        self._tries += 1
        found = _code(list(nodes(loss.grad_fn, MAX_NODES)))
        if found is None:
            return
        mean, width, noise = (one.detach().float() for one in found)
        self._looks += 1
        if self._looks >= FIRST_LOOKS:  # a code that is used shows it within hundreds of updates, on whatever step
            self._due = max(LATER, round(GROWTH * self.hub.step))
        spread = mean.flatten(1).var(0, unbiased=False).sort(descending=True).values
        places = torch.linspace(0, len(spread) - 1, min(len(spread), MAX_DIMENSIONS)).long()
        summary = torch.stack([width.median(), noise.std(unbiased=False)])
        step, dimensions, samples = self.hub.step, len(spread), len(mean)

        def measure(numbers: list[float]) -> None:
            self.hub.measure(
                LatentCode(
                    looks=self._looks, updates=step, dimensions=dimensions, samples=samples,
                    spreads=tuple(numbers[2:]), width=numbers[0], noise=numbers[1],
                )
            )  # fmt: skip

        self._copies.ask(torch.cat([summary, spread[places.to(spread.device)]]), measure)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)


def _code(graph: list[Any]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """Mean, width and noise of a code that was drawn, where the square of the mean is in the loss too."""
    for node in graph:
        if kind_of(node) != "Add" or len(node.next_functions) != 2:
            continue
        sides = [parent for parent, _ in node.next_functions]
        for mean, product in (sides, sides[::-1]):
            drawn = _drawn(product)
            if mean is None or drawn is None:
                continue
            square = next((one for one in graph if _is_square(one) and _leads_to(one, mean)), None)
            if square is not None and _alike(square._saved_self, drawn[0]):
                return square._saved_self, *drawn
    return None


def _drawn(node: Any) -> tuple[torch.Tensor, torch.Tensor] | None:
    """Width and noise of a product of noise, which is not learnt, with the exp of something."""
    if node is None or kind_of(node) != "Mul" or len(node.next_functions) != 2:
        return None
    first, second = (parent for parent, _ in node.next_functions)
    if (first is None) == (second is None):
        return None
    width = first if second is None else second
    noise = node._saved_other if second is None else node._saved_self
    if kind_of(width) != "Exp" or not isinstance(noise, torch.Tensor) or not _alike(noise, width._saved_result):
        return None
    return width._saved_result, noise


def _is_square(node: Any) -> bool:
    return bool(kind_of(node) == "Pow" and node._saved_exponent == 2)


def _leads_to(node: Any, wanted: Any) -> bool:
    """Whether what is squared was made from `wanted` by a few operations with one changing side."""
    for _ in range(NEAR):
        parents = [parent for parent, _ in node.next_functions if parent is not None]
        if len(parents) != 1:
            return False
        node = parents[0]
        if node == wanted:
            return True
    return False


def _alike(one: torch.Tensor, other: torch.Tensor) -> bool:
    return bool(one.shape == other.shape and one.dim() > 1 and watchable(one) and watchable(other))


OBSERVER = Latents
