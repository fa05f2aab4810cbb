"""Measures how strong the signal is on its way through the untrained network, from layer to layer and over time."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.nodes import written
from traindx.live.measures.packing import Packing
from traindx.live.measures.repeats import states_in_loop
from traindx.live.measures.rows import odd_stride, watchable
from traindx.live.measures.tensors import TABLES, tensors_in, weight_of
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import FirstPass

MAX_CALLS = 64  # of layers in the first pass
MIN_ROWS = 4  # samples, for a standard deviation
MAX_ROWS, MAX_VALUES = 64, 64  # of an output that are looked at
MIN_OUTPUTS = 3  # fewer are no way through a network: loops without modules are looked for then
MAX_MOMENTS = 8  # of a sequence that are looked at
_RECURRENT = torch.nn.RNNBase


class Strength(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._names: list[str] = []
        self._parts: list[torch.Tensor] = []  # of the outputs of layers with weights, in order
        self._done = False
        self._packing = Packing(hub)

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if self.hub.step or self._done or not self.hub.grad or len(self._parts) >= MAX_CALLS:
            return
        data = next(tensors_in(output), None) if _mixes(module) else None
        if data is None or not _has_samples(data):
            return
        parts = _moments(module, data.detach()) if isinstance(module, _RECURRENT) else [data.detach()]
        self._names += [name] * len(parts)
        self._parts += [_some(part) for part in parts]

    def _look_at_loop(self, loss: torch.Tensor) -> None:
        """Steps of time that no module takes."""
        states, shape = states_in_loop(loss)
        if not states or len(states[0]) < MIN_ROWS or not all(watchable(state) for state in states):
            return
        places = _spaced(len(states))
        self._names = [f"use {place + 1} of the weights of shape {written(shape)}" for place in places]
        self._parts = [_some(states[place]) for place in places]

    def attach(self) -> None:
        self._packing.attach()

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self.hub.step and not self._done and len(self._parts) < MIN_OUTPUTS and not self._packing.seen:
            self._look_at_loop(loss)
        if self._parts and not self._done:
            self._done = True
            parts, self._parts = self._parts, []
            shapes = [part.shape for part in parts]
            whole = torch.cat([part.reshape(-1).to(parts[0].device) for part in parts])
            self._copies.to_host(whole, partial(self._measure, shapes))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _measure(self, shapes: list[torch.Size], values: torch.Tensor) -> None:
        parts = torch.split_with_sizes(values, [shape.numel() for shape in shapes])
        spreads = tuple(_spread(part.view(shape)) for part, shape in zip(parts, shapes, strict=True))
        self.hub.measure(FirstPass(first=self._names[0], spreads=spreads, where=self._names[-1]))


def _mixes(module: torch.nn.Module) -> bool:
    """Whether a layer multiplies by weights."""
    weight = weight_of(module)
    matrix = weight is not None and weight.dim() >= 2
    return isinstance(module, _RECURRENT) or (matrix and not isinstance(module, TABLES))


def _has_samples(data: torch.Tensor) -> bool:
    return data.dim() >= 2 and len(data) >= MIN_ROWS and data.is_floating_point() and watchable(data)


def _moments(layer: torch.nn.RNNBase, data: torch.Tensor) -> list[torch.Tensor]:
    """The outputs of a recurrent layer at a few moments, in order."""
    if data.dim() != 3:
        return []
    along = data if layer.batch_first else data.transpose(0, 1)
    if along.shape[0] < MIN_ROWS:
        return []
    return [along[:, place] for place in _spaced(along.shape[1])]


def _spaced(length: int) -> list[int]:
    """A few places from the first to the last."""
    return sorted({round(part * (length - 1) / (MAX_MOMENTS - 1)) for part in range(MAX_MOMENTS)})


def _some(output: torch.Tensor) -> torch.Tensor:
    """A few samples and features of an output, copied: the layer behind may write over it."""
    rows = output[:MAX_ROWS].flatten(1)
    kind = torch.float64 if output.dtype == torch.float64 else torch.float32
    return rows[:, :: odd_stride(rows.shape[1], MAX_VALUES)].to(kind, copy=True)


def _spread(part: torch.Tensor) -> float:
    """How much an output varies with the sample."""
    return float(part.double().std(0, correction=0).mean())


OBSERVER = Strength
