"""Measures which lines make the host wait for the GPU (`.item()`, `.cpu()`, `bool(tensor)`, `print(loss)`), and what
moving a batch there takes. Both are looked at on deep steps only, and only once the training uses CUDA: without it
nothing is there to wait for."""

from __future__ import annotations

import linecache
import time
from collections import Counter
from statistics import median
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.places import place, user_frame
from traindx.live.events.syncs import Syncs
from traindx.live.measures.tensors import first_input, tensors_in
from traindx.measurements import BatchTransfers, HostWaits, WaitingLine

MAX_WINDOWS = 60  # steps, each from update to update
MAX_LINES = 3  # named
MAX_MOVES = 8  # batches whose way to the GPU is timed


class Waiting(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._syncs = Syncs(self._waits)
        self._counts: Counter[str] = Counter()  # waits by file:line since the last update
        self._windows: list[Counter[str]] = []
        self._code: dict[str, str] = {}
        self._whole = False  # the step is watched from its beginning
        self._began: tuple[float, float, int] | None = None  # when, with how much spent, at which step
        self._batch: tuple[float, float, dict[tuple[torch.Size, torch.dtype], torch.Tensor]] | None = None
        self._moved: float | None = None
        self._moves: list[tuple[float, int, bool]] = []  # seconds, bytes, pinned

    def attach(self) -> None:
        self._syncs.attach(self.hub.patch)
        self.hub.patches.add(self._syncs.end)

    # --- waits --------------------------------------------------------------------------------------------------------

    def on_depth(self, deep: bool) -> None:
        self._whole = False
        if deep and len(self._windows) < MAX_WINDOWS:
            self._begin()
        else:
            self._syncs.end()

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._whole and self._syncs.on:
            self._windows.append(self._counts)
            self._measure_waits()
        if len(self._windows) < MAX_WINDOWS:
            self._begin()
        else:
            self._syncs.end()

    def _begin(self) -> None:
        self._syncs.begin()
        self._whole = self._syncs.on
        self._counts = Counter()
        if self._whole and self._began is None:
            self._began = (time.perf_counter(), self.hub.spent, self.hub.step)

    def _waits(self) -> None:
        self.hub.guard(self, self._note)

    def _note(self) -> None:
        frame = user_frame()
        if frame is None:
            return
        where = place(frame.f_code.co_filename, frame.f_lineno)
        self._counts[where] += 1
        if where not in self._code:
            self._code[where] = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()[:60]

    def _step_seconds(self) -> float | None:
        """The time from update to update so far, our own left out."""
        if self._began is None or self.hub.step <= self._began[2]:
            return None
        began, spent, step = self._began
        return max(1e-9, time.perf_counter() - began - (self.hub.spent - spent)) / (self.hub.step - step)

    def _measure_waits(self) -> None:
        """A line counts as often as it waits in the median step: a validation in between is no step."""
        step = self._step_seconds()
        if step is None:
            return
        places = {where for window in self._windows for where in window}
        usual = {where: median(window[where] for window in self._windows) for where in places}
        ranked = sorted((-count, where) for where, count in usual.items() if count >= 1)
        waits = int(-sum(count for count, _ in ranked))
        lines = tuple(WaitingLine(where, self._code[where], float(-count)) for count, where in ranked[:MAX_LINES])
        self.hub.measure(HostWaits(steps=len(self._windows), step_seconds=step, waits=waits, lines=lines))

    # --- the way of a batch -------------------------------------------------------------------------------------------

    @on_deep_steps
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._batch = None
        uses_cuda = torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
        if len(self._moves) >= MAX_MOVES or self.hub.step == 0 or not uses_cuda:
            return
        held = {(t.shape, t.dtype): t for t in tensors_in(batch) if t.is_cpu and t.numel()}
        if held:
            torch.cuda.synchronize()  # what is still under way would be waited for by the copy
            self._batch = (time.perf_counter(), self.hub.spent, held)

    @on_deep_steps
    def on_call(self, model: torch.nn.Module) -> None:
        if self._batch is not None:
            began, spent, _ = self._batch
            self._moved = time.perf_counter() - began - (self.hub.spent - spent)

    @on_deep_steps
    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """The batch that the loader gave out has come to the model, unchanged but for where it lies."""
        held, self._batch = self._batch, None
        data = first_input(args, kwargs)
        if held is None or self._moved is None or data is None or not data.is_cuda:
            return
        source = held[2].get((data.shape, data.dtype))
        if source is None:
            return
        self.hub.record("transfer_time", max(0.0, self._moved))
        self._moves.append((max(0.0, self._moved), source.nbytes, source.is_pinned()))
        self._measure_moves()

    def _measure_moves(self) -> None:
        step = self._step_seconds()
        if step is not None:
            seconds = tuple(move[0] for move in self._moves)
            _, size, pinned = self._moves[-1]
            self.hub.measure(BatchTransfers(seconds=seconds, step_seconds=step, size=size, pinned=pinned))

    def on_end(self) -> None:
        self._syncs.end()


OBSERVER = Waiting
