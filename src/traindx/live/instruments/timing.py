"""Measures where the time of a step goes: forward, backward and optimiser, and what an evaluation takes. The wait for
data and the way to the GPU are measured where they happen (`batches.py`, `waiting.py`).

Every few steps that are not looked at closely are timed, by the clock on a CPU and by events in the stream on a GPU,
which nobody waits for. On Linux the share of the time that the training stood in line for a CPU is noted as well: on a
crowded machine the clock says little about the script."""

from __future__ import annotations

import time
from collections import deque
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps_and_evaluation

EVERY = 8  # steps
UNDER_WAY = 4  # steps on a GPU whose events have not come by yet, at most
PARTS = ("forward_pass_time", "backward_time", "optimizer_time")
QUEUE = Path("/proc/thread-self/schedstat")  # nanoseconds on a CPU, nanoseconds in line for one, turns
Moment = float | torch.cuda.Event


class Timing(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._cuda: bool | None = None  # where the losses are; None until one was seen
        self._moments: list[Moment] = []  # after the update before, at `backward`, after it, at the update, after it
        self._waited = 0.0  # for data, and in evaluation
        self._updated = self._evaluated = 0.0
        self._under_way: deque[tuple[int, list[Moment], float]] = deque()
        self._began = time.perf_counter(), _queued()

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._moments:
            self._waited += seconds

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if self.hub.step and not call.output.requires_grad:
            self._evaluated = time.perf_counter()

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._cuda is None and not loss.is_meta:
            self._cuda = loss.is_cuda
        if self._evaluated:
            if self._evaluated > self._updated > 0:
                self.hub.record("validation_time", self._evaluated - self._updated)
            self._evaluated = 0.0
            self._moments.clear()  # its time is not the step's
        self._mark(1)

    def on_gradients(self, loss: torch.Tensor) -> None:
        self._mark(2)

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        self._mark(3)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        step = self.hub.step
        self._mark(4)
        if len(self._moments) == 5 and not self.hub.deep:
            self._under_way.append((step, self._moments, self._waited))
        self._moments, self._waited = [], 0.0
        if self._under_way:
            self._tell()
        if (step + 1) % EVERY == 0 and len(self._under_way) < UNDER_WAY:
            self._mark(0)
        self._updated = time.perf_counter()

    def on_end(self) -> None:
        began, before = self._began
        after, length = _queued(), time.perf_counter() - began
        if before is not None and after is not None and self.hub.step:
            self.hub.config(cpu_queue=round(max(0.0, after - before) / length, 3))

    def _mark(self, number: int) -> None:
        """The moment of this number, where those before it were noted and it was not: of several `backward` calls the
        first is timed, and such a step is not reported."""
        if len(self._moments) != number or self._cuda is None:
            if self._moments and number:
                self._moments.clear()
            return
        if not self._cuda:
            self._moments.append(time.perf_counter())
        elif not torch._C._cuda_isCurrentStreamCapturing():
            event = torch.cuda.Event(enable_timing=True)  # type: ignore[no-untyped-call]
            event.record()
            self._moments.append(event)

    def _tell(self) -> None:
        while self._under_way:
            step, moments, waited = self._under_way[0]
            last = moments[-1]
            if not isinstance(last, float) and not last.query():  # type: ignore[no-untyped-call]
                return
            self._under_way.popleft()
            forward, backward, _, update = (_between(*pair) for pair in pairwise(moments))
            for name, seconds in zip(PARTS, (max(0.0, forward - waited), backward, update), strict=True):
                self.hub.values.add(step, name, seconds)


def _queued() -> float | None:
    """The seconds that this thread was ready to run and had no CPU; None where the system does not count them."""
    try:
        return int(QUEUE.read_text().split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        return None


def _between(earlier: Moment, later: Moment) -> float:
    if isinstance(earlier, float) or isinstance(later, float):
        return float(later) - float(earlier)  # type: ignore[arg-type]
    return float(earlier.elapsed_time(later)) / 1e3


OBSERVER = Timing
