"""Measures how the memory of the process and of the GPU develops, and whether the graphs of earlier losses are still
alive."""

from __future__ import annotations

import os
import time
import weakref
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.measurements import MemoryTrend, MemoryUse

SECONDS = 0.25  # between two readings
EVERY_READINGS = 24  # the line through them is drawn anew
MAX_READINGS = 480  # then every second one is let go
WARM_UP = 0.25  # of the readings are left out
MARK_SECONDS = 1.0
MAX_MARKS = 9
OLD = 5  # updates after which nobody needs the graph of a loss
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_STATM = "/proc/self/statm"
Readings = list[tuple[int, float]]  # step, bytes


class _Mark:
    """Lives as long as the graph of the loss it is attached to."""

    __slots__ = ("__weakref__",)


class Memory(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._host: Readings = []
        self._device: Readings = []
        self._marks: list[tuple[int, weakref.ref[_Mark]]] = []
        self._next = self._next_mark = 0.0

    def on_backward(self, loss: torch.Tensor) -> None:
        now = time.monotonic()
        if now < self._next_mark or loss.grad_fn is None:
            return
        self._next_mark = now + MARK_SECONDS
        mark = _Mark()
        notes: Any = loss.grad_fn.metadata
        notes["traindx"] = mark  # a node's own place for notes; it goes with the graph
        self._marks = [*self._marks, (self.hub.step, weakref.ref(mark))][-MAX_MARKS:]

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + SECONDS
        resident = _resident()
        if resident is not None:
            self.hub.record("memory_host", resident)
            self._note(self._host, resident)
        if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            allocated = float(torch.cuda.memory_allocated())
            self.hub.record("memory", allocated)
            self._note(self._device, allocated)

    def on_end(self) -> None:
        if self._host or self._device:
            self._measure()

    def _note(self, readings: Readings, size: float) -> None:
        readings.append((self.hub.step, size))
        if len(readings) >= MAX_READINGS:
            del readings[::2]
        if len(readings) % EVERY_READINGS == 0:
            self._measure()

    def _measure(self) -> None:
        old = [mark() is not None for step, mark in self._marks if step <= self.hub.step - OLD]
        self.hub.measure(
            MemoryUse(host=_trend(self._host), device=_trend(self._device), graphs=len(old), graphs_alive=sum(old))
        )


def _resident() -> float | None:
    try:
        with open(_STATM, "rb", buffering=0) as file:
            return float(int(file.read().split()[1]) * _PAGE)
    except (OSError, ValueError, IndexError):  # no such file outside Linux
        return None


def _trend(readings: Readings) -> MemoryTrend | None:
    late = readings[int(WARM_UP * len(readings)) :]
    if not late:
        return None
    steps = torch.tensor([float(step) for step, _ in late], dtype=torch.float64)
    sizes = torch.tensor([size for _, size in late], dtype=torch.float64)
    steps, sizes = steps - steps.mean(), sizes - sizes.mean()
    together = float((steps * sizes).sum())
    slope = together / max(float(steps.square().sum()), 1e-9)
    return MemoryTrend(
        readings=len(readings),
        updates=late[-1][0] - late[0][0],
        first=late[0][1],
        last=late[-1][1],
        slope=slope,
        explained=slope * together / max(float(sizes.square().sum()), 1e-9),
    )


OBSERVER = Memory
