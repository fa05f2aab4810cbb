"""Memory that keeps growing, and whether the graphs of earlier losses are what fills it."""

from __future__ import annotations

import os
import time
import weakref
from typing import Any

import torch

from traindx.live.hub import Hub
from traindx.live.observer import Observer

SECONDS = 0.25  # between two readings
READINGS = 24  # before anything is said
MOST_READINGS = 480  # then every second one is let go
WARM_UP = 0.25  # of the readings are left out
GROWN = 64 << 20  # bytes at least, and
GROWN_SHARE = 0.1  # of where it began
STRAIGHT = 0.95  # of the variance lies on a straight line
MARK_SECONDS = 1.0
MARKS = 8
OLD = 5  # updates after which nobody needs the graph of a loss
_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
_STATM = "/proc/self/statm"


class _Mark:
    """Lives as long as the graph of the loss it is attached to."""

    __slots__ = ("__weakref__",)


class Memory(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._readings: dict[str, list[tuple[int, float]]] = {"host": [], "device": []}
        self._marks: list[tuple[int, weakref.ref[_Mark]]] = []
        self._next = self._next_mark = 0.0
        self._told: bool | None = None

    def on_backward(self, loss: torch.Tensor) -> None:
        now = time.monotonic()
        if now < self._next_mark or loss.grad_fn is None:
            return
        self._next_mark = now + MARK_SECONDS
        mark = _Mark()
        notes: Any = loss.grad_fn.metadata
        notes["traindx"] = mark  # a node's own place for notes; it goes with the graph
        self._marks = [*self._marks[-MARKS:], (self.hub.step, weakref.ref(mark))]

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + SECONDS
        resident = _resident()
        if resident is not None:
            self.hub.record("memory_host", resident)
            self._note("host", resident)
        if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
            allocated = float(torch.cuda.memory_allocated())
            self.hub.record("memory", allocated)
            self._note("device", allocated)

    def on_end(self) -> None:
        self._judge()

    def _note(self, kind: str, size: float) -> None:
        readings = self._readings[kind]
        readings.append((self.hub.step, size))
        if len(readings) >= MOST_READINGS:
            del readings[::2]
        if len(readings) % READINGS == 0:
            self._judge()

    def _judge(self) -> None:
        for kind, readings in self._readings.items():
            late = readings[int(WARM_UP * len(readings)) :]
            if len(readings) < READINGS or late[-1][0] <= late[0][0]:
                continue
            slope, straight = _line(late)
            grown = slope * (late[-1][0] - late[0][0])
            if straight >= STRAIGHT and grown >= max(GROWN, GROWN_SHARE * late[0][1]):
                where = "on the GPU" if kind == "device" else "of the process"
                self._tell(
                    True,
                    f"Memory {where} grows by {_amount(slope)} with every update, {_amount(grown)} so far{self._why()}.",
                )
                return
        longest = max(self._readings.values(), key=len)
        if len(longest) >= READINGS:
            self._tell(False, f"Memory stays near {_amount(longest[-1][1])}.")

    def _why(self) -> str:
        old = [mark for step, mark in self._marks if step <= self.hub.step - OLD]
        if len(old) >= 3 and all(mark() is not None for mark in old):
            return "; the graphs of earlier losses are still alive, so a loss or output is kept without .item() or .detach()"
        return ""

    def _tell(self, present: bool, evidence: str) -> None:
        if self._told != present:
            self._told = present
            self.hub.fact("memory-growth", present, evidence)


def _resident() -> float | None:
    try:
        with open(_STATM, "rb", buffering=0) as file:
            return float(int(file.read().split()[1]) * _PAGE)
    except (OSError, ValueError, IndexError):  # no such file outside Linux
        return None


def _line(readings: list[tuple[int, float]]) -> tuple[float, float]:
    """Slope of the straight line through the readings, and the share of their variance on it."""
    steps = torch.tensor([float(step) for step, _ in readings], dtype=torch.float64)
    sizes = torch.tensor([size for _, size in readings], dtype=torch.float64)
    steps, sizes = steps - steps.mean(), sizes - sizes.mean()
    together = float((steps * sizes).sum())
    slope = together / max(float(steps.square().sum()), 1e-9)
    return slope, slope * together / max(float(sizes.square().sum()), 1e-9)


def _amount(size: float) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e5 else f"{size / 1e3:.2g} kB"


OBSERVER = Memory
