"""Measures losses that jump: the batch behind one is kept, and its samples with the largest values are recorded.

In host memory the loss is known before its backward pass. On a GPU it arrives some steps later, so that the batches
of the last steps are held until then, as far as there is room.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.keeping import drawn, keep_batch, users_tensors
from traindx.live.recording.values import Number
from traindx.measurements import LossJump

WINDOW = 64  # losses that tell what is usual
MIN_LOSSES = 32
EVERY = 16  # steps between two looks at what is usual
# Which batches are worth keeping has to be decided while they are there.
TIMES = 3.0  # the usual loss, and
DEVIATIONS = 12.0  # above it, in median absolute deviations: ordinary noise stays below
MOST_KEPT = 5  # batches
HELD = 32 << 20  # bytes held until their losses are known
MIN_ROWS = 4  # in fewer there is no usual sample
MAX_ROWS = 8  # samples that are recorded


@dataclass(slots=True)
class _Batch:
    step: int
    loss: Number
    batch: Any
    indices: Sequence[int] | None
    bytes: int


class Spikes(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._usual: deque[float] = deque(maxlen=WINDOW)
        self._limit = math.inf
        self._count = 0
        self._high = False
        self._kept = 0
        self._batch: tuple[Any, Sequence[int] | None] = (None, None)
        self._pending: deque[_Batch] = deque()
        self._bytes = 0
        self._rows = 0  # of what a model was given last in training

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._batch = (batch, drawn.last)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._kept >= MOST_KEPT or loss.numel() != 1:
            return
        number = self.hub.number_of(loss)
        if number is None:
            return
        if number.value is not None:
            self._take(number.value, self.hub.step, *self._batch, now=True)
        else:
            self._hold(number)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._batch = (None, None)
        while self._pending and (self._pending[0].loss.value is not None or self._pending[0].loss.lost):
            held = self._pending.popleft()
            self._bytes -= held.bytes
            if held.loss.value is not None:
                self._take(held.loss.value, held.step, held.batch, held.indices, now=False)

    def _hold(self, number: Number) -> None:
        batch, indices = self._batch
        size = sum(tensor.nbytes for tensor in tensors_in(batch))
        if self._bytes + size > HELD:
            batch, indices, size = None, None, 0
        self._bytes += size
        self._pending.append(_Batch(self.hub.step, number, batch, indices, size))

    def _take(self, value: float, step: int, batch: Any, indices: Sequence[int] | None, *, now: bool) -> None:
        if not math.isfinite(value):
            return
        if value > self._limit:
            if not self._high:  # what follows a jump is its aftermath
                self._keep(value, step, batch, indices, now)
            self._high = True
            return  # what is unusual does not shift what is usual
        self._high = False
        self._usual.append(value)
        self._count += 1
        if self._count % EVERY == 0 and len(self._usual) >= MIN_LOSSES:
            usual = median(self._usual)
            scatter = median(abs(one - usual) for one in self._usual)
            self._limit = max(TIMES * usual, usual + DEVIATIONS * scatter) if usual > 0 else math.inf

    def _keep(self, value: float, step: int, batch: Any, indices: Sequence[int] | None, now: bool) -> None:
        tensors = [tensor for tensor in tensors_in(batch) if watchable(tensor)]
        variables: Mapping[str, torch.Tensor] = {}
        if now:
            rows = next((len(tensor) for tensor in tensors if tensor.dim()), 0) or self._rows
            variables = users_tensors(rows)
        if not tensors and not variables:
            return
        self._kept += 1
        usual = median(self._usual)
        contents = {"update": step + 1, "loss": value, "batch": tensors, "variables": variables, "indices": indices}
        saved = keep_batch(self.hub, f"spike-{step + 1}", contents)
        if saved:
            jump = f"The loss of update {step + 1} jumped to {value:.4g} (usual {usual:.4g})"
            self.hub.event("warning", f"{jump}; its batch is in {saved} of the recording.")
        standing_out = _standing_out((*tensors, *variables.values()), indices)
        self.hub.measure(LossJump(update=step + 1, loss=value, usual=usual, where=saved or "", **standing_out))

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        first = next((tensor for tensor in tensors_in(args) if tensor.dim() >= 2), None)
        if first is not None and self.hub.grad:
            self._rows = len(first)


def _standing_out(tensors: Sequence[torch.Tensor], indices: Sequence[int] | None) -> dict[str, Any]:
    """The samples with the largest values, in the tensor where they are largest beside those of the median sample."""
    found: dict[str, Any] = {}
    for tensor in tensors:
        if not tensor.is_floating_point() or tensor.dim() < 2 or not tensor.is_cpu or len(tensor) < MIN_ROWS:
            continue
        tops = tensor.detach().float().abs().flatten(1).amax(1)
        usual = float(tops.median())
        ordered = tops.sort(descending=True)
        largest, rows = ordered.values[:MAX_ROWS].tolist(), ordered.indices[:MAX_ROWS].tolist()
        if usual > 0 and (not found or largest[0] / usual > found["largest"][0] / found["median"]):
            known = indices if indices is not None and len(indices) == len(tensor) else None
            found = {
                "largest": tuple(largest),
                "rows": tuple(rows),
                "samples": tuple(known[row] for row in rows) if known is not None else (),
                "median": usual,
                "beyond_quarter": float(ordered.values[len(tensor) // 4]),
                "count": len(tensor),
            }
    return found


OBSERVER = Spikes
