"""Measures whether the embedding and the head of a model whose config ties them are one matrix."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.live.tokens.vocabulary import is_a
from traindx.measurements import TiedWeights

MAX_ROWS = 4096  # of the two matrices that are compared
UPDATES = (1, 5, 30, 200)  # after which they are, and at the end


class Ties(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._met = -1
        self._pair: tuple[torch.Tensor, torch.Tensor, str] | None = None  # embedding, head and what they are called
        self._due = list(UPDATES)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._met != self.hub.known.met:
            self._met = self.hub.known.met
            found = (_pair_in(module) for model in self.hub.models.values() for module in model.modules())
            self._pair = next((one for one in found if one is not None), None)
            if self._pair is not None and _same(*self._pair[:2]):
                self._write(self._pair[2], same=True, distance=0.0)
                self._pair = None

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        self._copies.poll()
        if self._pair is not None and self._due and self.hub.step + 1 >= self._due[0]:
            self._due = [one for one in self._due if one > self.hub.step + 1]
            self._compare(*self._pair)

    def on_models_freed(self) -> None:
        self.on_end()
        self._pair, self._met = None, -1

    def on_end(self) -> None:
        if self._pair is not None:
            self._compare(*self._pair)
        self._copies.poll(wait=True)

    def _compare(self, embedding: torch.Tensor, head: torch.Tensor, where: str) -> None:
        every = len(embedding) // MAX_ROWS + 1
        here, there = embedding.detach()[::every].float(), head.detach()[::every].float()
        distance = (here - there.to(here.device)).norm() / here.norm().clamp(min=1e-12)
        self._copies.ask(distance, lambda value: self._write(where, same=False, distance=value))

    def _write(self, where: str, *, same: bool, distance: float) -> None:
        self.hub.measure(TiedWeights(same=same, distance=distance, updates=self.hub.step, where=where))


def _pair_in(module: Any) -> tuple[torch.Tensor, torch.Tensor, str] | None:
    """The two matrices of a model of transformers whose config says that they are one."""
    if not is_a(module, "transformers.modeling_utils.PreTrainedModel"):
        return None
    if getattr(getattr(module, "config", None), "tie_word_embeddings", False) is not True:
        return None
    embedding, head = (
        getattr(one, "weight", None) for one in (module.get_input_embeddings(), module.get_output_embeddings())
    )
    if not (isinstance(embedding, torch.Tensor) and isinstance(head, torch.Tensor)):
        return None
    if embedding.shape != head.shape or not (watchable(embedding.detach()) and watchable(head.detach())):
        return None
    return embedding, head, type(module).__name__


def _same(embedding: torch.Tensor, head: torch.Tensor) -> bool:
    return embedding is head or embedding.data_ptr() == head.data_ptr()


OBSERVER = Ties
