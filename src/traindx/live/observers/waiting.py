"""Lines that make the host wait for the GPU (`.item()`, `.cpu()`, `bool(tensor)`, `print(loss)`), and what moving a batch there
takes. Both are looked at on deep steps only, and only once the training uses CUDA: without it nothing is there to wait for."""

from __future__ import annotations

import linecache
import time
from collections import Counter
from statistics import median
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.places import place, user_frame
from traindx.live.syncs import Syncs
from traindx.live.tensors import first_input, tensors_in

WINDOWS = 5  # steps, each from update to update, before anything is said
MOST_WINDOWS = 60
# What waiting once costs: 148 calls of `.item()` made a step of GPT-2 124M on an H200 longer by 8 ms (docs/benchmarks.md)
WAIT_SECONDS = 5e-5
MANY = 8  # waits in a step: the loss, a norm and a scaler have theirs by right
COSTLY, PLAIN = 0.1, 0.3  # of a step
CHEAP = 0.05
SHOWN = 3  # lines named
MOVES = 8  # batches whose way to the GPU is timed
LEAST_MOVES = 3
LEAST_SECONDS = 1e-3


class Waiting(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
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
        if deep and len(self._windows) < MOST_WINDOWS:
            self._begin()
        else:
            self._syncs.end()

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._whole and self._syncs.on:
            self._windows.append(self._counts)
            self._judge()
        if len(self._windows) < MOST_WINDOWS:
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

    def _judge(self) -> None:
        """A line counts as often as it waits in the middle one of the steps: a validation in between is no step."""
        step = self._step_seconds()
        if len(self._windows) < WINDOWS or step is None:
            return
        lines = {where for window in self._windows for where in window}
        usual = {where: median(window[where] for window in self._windows) for where in lines}
        ranked = sorted((-count, where) for where, count in usual.items() if count >= 1)
        total = int(-sum(count for count, _ in ranked))
        share = min(1.0, total * WAIT_SECONDS / step)
        if not ranked:
            self._tell(False, "No line of the loop makes the host wait for the GPU.")
        elif total >= MANY and share >= COSTLY:
            named = ", ".join(f"{where} `{self._code[where]}` {int(-count)} times" for count, where in ranked[:SHOWN])
            clear = 0.8 + 0.2 * min(1.0, (share - COSTLY) / (PLAIN - COSTLY))
            text = f"The host waits for the GPU {total} times in every step ({named}): about {share:.0%} of {step * 1e3:.3g} ms."
            self._tell(True, text, ranked[0][1], clear)
        elif total < MANY or share < CHEAP:
            few = f"{total} time{'s' if total > 1 else ''} in a step of {step * 1e3:.3g} ms"
            self._tell(False, f"The host waits for the GPU {few} ({ranked[0][1]}).")

    def _tell(self, present: bool, evidence: str, where: str | None = None, clarity: float = 1.0) -> None:
        self._findings.add(Finding("waits-for-device", present, evidence, clarity), where)

    # --- the way of a batch -------------------------------------------------------------------------------------------

    @on_deep_steps
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._batch = None
        if len(self._moves) >= MOVES or self.hub.step == 0 or not torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
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
        self._judge_moves()

    def _judge_moves(self) -> None:
        step = self._step_seconds()
        if len(self._moves) < LEAST_MOVES or step is None:
            return
        seconds, size, pinned = median(move[0] for move in self._moves), self._moves[-1][1], self._moves[-1][2]
        share = seconds / step
        how = f"A batch of {size / 1e6:.3g} MB takes {seconds * 1e3:.3g} ms from the loader to the model on the GPU"
        memory = "from pinned memory" if pinned else "from memory that is not pinned"
        if share >= COSTLY and seconds >= LEAST_SECONDS:
            clear = 0.8 + 0.2 * min(1.0, (share - COSTLY) / (PLAIN - COSTLY))
            text = f"{how}, {memory}: {share:.0%} of the {step * 1e3:.3g} ms of a step."
            self._findings.add(Finding("slow-transfer", True, text, clear))
        elif share < CHEAP:
            self._findings.add(Finding("slow-transfer", False, f"{how}, {share:.1%} of a step."))

    def on_end(self) -> None:
        self._syncs.end()


OBSERVER = Waiting
