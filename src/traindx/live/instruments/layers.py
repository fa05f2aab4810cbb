"""Measures mean, spread and range of what each layer gives out, on deep steps. Only series: no symptom reads them."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.measures.rows import odd_stride, watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.async_copy import AsyncCopy

MAX_LAYERS = 40  # layers with series of their own
MAX_ELEMENTS = 1 << 14  # numbers of one output
STATISTICS = ("mean", "std", "min", "max")
_SILENT = (torch.nn.modules.dropout._DropoutNd, torch.nn.Flatten, torch.nn.Unflatten, torch.nn.Identity)


class Layers(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._names: set[str] = set()
        self._taken: dict[str, torch.Tensor] = {}  # some numbers of each output since the last update

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if not self.hub.grad or isinstance(module, _SILENT) or next(module.children(), None) is not None:
            return
        given = next(tensors_in(output), None)
        if given is None or not given.is_floating_point() or not watchable(given):
            return
        if name not in self._names:
            if len(self._names) >= MAX_LAYERS:
                return
            self._names.add(name)
        values = given.detach().flatten()
        values = values[:: odd_stride(len(values), MAX_ELEMENTS)]
        # a copy, since the layer behind may write over its input
        self._taken[name] = values.to(torch.float32, copy=True)

    def _record(self, step: int, lengths: dict[str, int], values: torch.Tensor) -> None:
        for name, part in zip(lengths, torch.split_with_sizes(values, list(lengths.values())), strict=True):
            statistics = torch.stack([part.mean(), part.std(correction=0), *torch.aminmax(part)]).tolist()
            for statistic, value in zip(STATISTICS, statistics, strict=True):
                self.hub.values.add(step, f"activation_{statistic}/{name}", value)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        taken, self._taken = self._taken, {}
        for device in {values.device for values in taken.values()}:
            here = {name: values for name, values in taken.items() if values.device == device}
            record = partial(self._record, self.hub.step, {name: len(values) for name, values in here.items()})
            self._copies.to_host(torch.cat(list(here.values())), record)
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)


OBSERVER = Layers
