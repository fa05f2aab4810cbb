"""How strong the signal is on its way through the untrained network: does it grow without bound with depth or with time?"""

from __future__ import annotations

import math
from functools import partial
from itertools import pairwise
from typing import Any

import torch

from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.nodes import written
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.packing import Packing
from traindx.live.repeats import states_in_loop
from traindx.live.rows import odd_stride, watchable
from traindx.live.tensors import tensors_in

GROWN = 1e3  # times, from the weakest output to the last; healthy networks stay within a hundred
PLAIN = 1e6
CALLS = 64  # of layers in the first pass
LEAST_ROWS = 4
MOST_ROWS, MOST_VALUES = 64, 64  # of an output that are looked at
FEWEST = 3  # outputs that must grow one after the other
RISING = 0.8  # of the steps from one output to the next, which go up
_RECURRENT = torch.nn.RNNBase
MOMENTS = 8  # of a sequence that are looked at


class Strength(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._names: list[str] = []
        self._parts: list[torch.Tensor] = []  # of the outputs of layers with weights, in order
        self._told = False
        self._packing = Packing(hub)

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if self.hub.step or self._told or not self.hub.grad or len(self._parts) >= CALLS:
            return
        weight = getattr(module, "weight", None)
        mixes = isinstance(weight, torch.Tensor) and weight.dim() >= 2 and not isinstance(module, torch.nn.Embedding)
        if not mixes and not isinstance(module, _RECURRENT):
            return
        data = next(tensors_in(output), None)
        if (
            data is None
            or data.dim() < 2
            or len(data) < LEAST_ROWS
            or not data.is_floating_point()
            or not watchable(data)
        ):
            return
        parts = _moments(module, data.detach()) if isinstance(module, _RECURRENT) else [data.detach()]
        self._names += [name] * len(parts)
        self._parts += [_some(part) for part in parts]

    def _look_at_loop(self, loss: torch.Tensor) -> None:
        """Steps of time that no module takes."""
        states, shape = states_in_loop(loss)
        if not states or len(states[0]) < LEAST_ROWS or not all(watchable(state) for state in states):
            return
        places = _spaced(len(states))
        self._names = [f"use {place + 1} of the weights of shape {written(shape)}" for place in places]
        self._parts = [_some(states[place]) for place in places]

    def attach(self) -> None:
        self._packing.attach()

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self.hub.step and not self._told and len(self._parts) < FEWEST and not self._packing.seen:
            self._look_at_loop(loss)
        if self._parts and not self._told:
            self._told = True
            parts, self._parts = self._parts, []
            shapes = [part.shape for part in parts]
            whole = torch.cat([part.reshape(-1).to(parts[0].device) for part in parts])
            self._later.bring(whole, partial(self._judge, shapes))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._later.poll()

    def on_end(self) -> None:
        self._later.poll(wait=True)

    def _judge(self, shapes: list[torch.Size], values: torch.Tensor) -> None:
        """Growth is told only where it is plain; that it is not there says nothing of what training makes of it."""
        parts = torch.split_with_sizes(values, [shape.numel() for shape in shapes])
        spreads = [_spread(part.view(shape)) for part, shape in zip(parts, shapes, strict=True)]
        sizes = [math.log10(min(one, 1e300)) for one in spreads if one > 0]
        ups = [after > before for before, after in pairwise(sizes)]
        grown = sizes[-1] - min(sizes) if sizes else 0.0
        if len(sizes) < FEWEST or grown < math.log10(GROWN) or sum(ups) < RISING * len(ups):
            return
        text = (
            f"In the untrained model what varies with the input grows {10**grown:.2g}-fold over {len(sizes)} outputs, from "
            f"{self._names[0]} to {self._names[-1]}."
        )
        clear = min(1.0, 0.5 + 0.5 * (grown - math.log10(GROWN)) / (math.log10(PLAIN) - math.log10(GROWN)))
        self.hub.fact("signal-grows", True, text, where=self._names[-1], clarity=clear)


def _moments(layer: torch.nn.RNNBase, data: torch.Tensor) -> list[torch.Tensor]:
    """The outputs of a recurrent layer at a few moments, in order."""
    if data.dim() != 3:
        return []
    along = data if layer.batch_first else data.transpose(0, 1)
    if along.shape[0] < LEAST_ROWS:
        return []
    return [along[:, place] for place in _spaced(along.shape[1])]


def _spaced(length: int) -> list[int]:
    """A few places from the first to the last."""
    return sorted({round(part * (length - 1) / (MOMENTS - 1)) for part in range(MOMENTS)})


def _some(output: torch.Tensor) -> torch.Tensor:
    """A few samples and features of an output, copied: the layer behind may write over it."""
    rows = output[:MOST_ROWS].flatten(1)
    kind = torch.float64 if output.dtype == torch.float64 else torch.float32
    return rows[:, :: odd_stride(rows.shape[1], MOST_VALUES)].to(kind, copy=True)


def _spread(part: torch.Tensor) -> float:
    """How much an output varies with the sample."""
    return float(part.double().std(0, correction=0).mean())


OBSERVER = Strength
