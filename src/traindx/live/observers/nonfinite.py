"""The post-mortem of the first loss that is NaN or Inf: data, logarithm, division, the range of float16, or growth before.

In host memory the loss is looked at before its backward pass, while the graph still holds what every operation was given. On
a GPU the news comes a step later; what was held of the last steps must then do.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import torch

from traindx.live import autopsy
from traindx.live.autopsy import Operand, Verdict
from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub, user_line
from traindx.live.later import Later
from traindx.live.naming import optimized
from traindx.live.observer import Criterion, Observer
from traindx.live.rows import watchable
from traindx.live.tensors import names_of, tensors_in

STEPS = 64  # held until the news of their loss has come, as far as SAVED goes
LOSSES = 50
GROWTH = 1e3  # times the loss before, and
HUGE = 1e12  # or this large outright: no loss of a working training is
SAVED = 50 << 20  # bytes of an offending batch that is kept
ASK_SECONDS = 0.1  # between questions to a device whether the loss is finite
MEMORY_SECONDS = 1.0
FIRST_LOOKS = 3  # steps at which the arithmetic of the loss is looked for
PATIENCE = 20  # steps that a gradient scaler may skip before its overflow is a fault
ORIGINS = {
    "log": "nan-from-log",
    "division": "nan-from-division",
    "empty-mean": "nan-from-division",
    "half": "nan-from-half-overflow",
}
ALL = ("nonfinite-inputs", "nan-from-log", "nan-from-division", "nan-from-half-overflow", "nan-from-growth")


@dataclass(slots=True)
class _Step:
    """What is held of one step."""

    number: int
    where: str = ""
    calls: list[tuple[torch.Tensor | None, torch.Tensor, str]] = field(
        default_factory=list
    )  # prediction, target, file:line
    operands: list[Operand] = field(default_factory=list)
    batch: Any = None

    def size(self) -> int:
        held = [tensor for prediction, target, _ in self.calls for tensor in (prediction, target) if tensor is not None]
        held += [operand.tensor for operand in self.operands]
        return sum(tensor.nbytes for tensor in (*held, *tensors_in(self.batch)))

    def forget(self) -> None:
        self.calls, self.operands, self.batch = [], [], None


class NonFinite(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._findings = Findings(hub)
        self._steps: deque[_Step] = deque([_Step(0)], maxlen=STEPS)
        self._losses: deque[torch.Tensor | float] = deque(maxlen=LOSSES)
        self._first_losses: list[torch.Tensor | float] = []
        self._optimizers: WeakValueDictionary[int, torch.optim.Optimizer] = WeakValueDictionary()
        self._known: set[int] = set()
        self._arithmetic = False  # the loss is computed with operations that can leave the finite numbers
        self._opaque = False  # saved tensors are packed away by hooks, which are not ours to call
        self._scaled = False
        self._unasked: list[tuple[_Step, torch.Tensor]] = []
        self._late = False  # the losses are on a device: news of them comes later
        self._bytes = 0
        self._bad = 0
        self._done = False
        self._measured = 0.0
        self._asked = 0.0

    def attach(self) -> None:
        self.hub.patch(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._around_hooks)
        self.hub.patch(torch.amp.GradScaler, "scale", self._around_scale)

    def _around_hooks(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(context: Any) -> Any:
            self._opaque = True
            return original(context)

        return __enter__

    def _around_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            self._scaled = self._scaled or scaler.is_enabled()
            return original(scaler, outputs)

        return scale

    # --- what is held -------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if not self._done and sum(t.nbytes for t in tensors_in(batch)) < SAVED // 2:
            self._steps[-1].batch = batch

    def on_criterion(self, call: Criterion) -> None:
        if self._done or not self.hub.grad or not call.output.requires_grad or len(self._steps[-1].calls) >= 8:
            return
        held = call.input.detach() if call.input.nbytes <= autopsy.SMALL else None
        if call.target.nbytes <= autopsy.SMALL:
            self._steps[-1].calls.append((held, call.target, call.where))

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done or loss.numel() != 1 or (self.hub.deep and not (watchable(loss) and loss.is_floating_point())):
            return
        step = self._steps[-1]
        value = loss.item() if loss.device.type == "cpu" else loss.detach()
        self._losses.append(value)
        if len(self._first_losses) < 5:
            self._first_losses.append(value)
        if isinstance(value, torch.Tensor):
            self._late = True
            self._unasked.append((step, value.reshape(())))
            now = time.monotonic()
            # each question costs two launches, so it is about all losses since the last one
            if now - self._asked > ASK_SECONDS or len(self._unasked) >= STEPS:
                self._asked = now
                self._ask()
        elif not math.isfinite(value):
            self._died(step, loss)
            return
        if self.hub.step < FIRST_LOOKS and not self._opaque:
            self._arithmetic = self._arithmetic or bool(autopsy.operands(loss, autopsy.NEAR_LOSS))
        if self._arithmetic and not self._opaque:
            step.where = step.where or user_line()
            step.operands = autopsy.operands(loss, autopsy.NEAR_LOSS, small=True)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        now = time.monotonic()
        if now - self._measured > MEMORY_SECONDS:
            self._measured = now
            if torch.cuda.is_available() and torch.cuda.is_initialized():  # type: ignore[no-untyped-call]
                self.hub.record("memory", float(torch.cuda.memory_allocated()))
        if self._done:
            return
        if id(optimizer) not in self._known:
            self._known.add(id(optimizer))
            self._optimizers[id(optimizer)] = optimizer
        self._later.poll()
        self._hold()
        self._steps.append(_Step(self.hub.step + 1))

    def on_end(self) -> None:
        self._ask()
        self._later.poll(wait=True)

    def _ask(self) -> None:
        waiting, self._unasked = self._unasked, []
        if waiting and len({(value.dtype, value.device) for _, value in waiting}) == 1:
            finite = torch.isfinite(torch.stack([value for _, value in waiting]))
            self._later.ask(finite, partial(self._heard, [step for step, _ in waiting]))

    def _heard(self, steps: list[_Step], finite: list[bool]) -> None:
        for step, fine in zip(steps, finite, strict=True):
            if not fine:
                self._died(step, None)

    def _hold(self) -> None:
        """The step is over: hold it while there is room, and let the oldest go."""
        if not self._late:
            while len(self._steps) > 1:
                self._steps.popleft()
            return
        self._bytes += self._steps[-1].size()
        for step in self._steps:
            if self._bytes <= SAVED:
                break
            self._bytes -= step.size()
            step.forget()
        if len(self._steps) == STEPS:
            self._bytes -= self._steps[0].size()

    # --- the post-mortem ----------------------------------------------------------------------------------------------

    def _died(self, step: _Step, loss: torch.Tensor | None) -> None:
        """The first loss that is not finite; with a graph to read when the loss itself is given."""
        if self._done:
            return
        self._bad += 1
        if self._scaled and self._bad < PATIENCE:
            return  # the scaler skips such a step and lowers its scale: that is its purpose
        self._done = True
        where = next((place for _, _, place in step.calls if place), step.where) or user_line()
        graph = loss if loss is not None and not self._opaque else None
        inputs = self._inputs(step, graph)
        identifier, evidence = self._explain(step, graph, inputs)
        if identifier is not None:
            self._findings.add(
                Finding(identifier, True, f"The loss of update {step.number + 1} is not finite: {evidence}."), where
            )
            for other in ALL:
                self._findings.add(
                    Finding(other, False, f"The first loss that is not finite has another origin: {evidence}.")
                )
        self._save(step, inputs)
        self._steps.clear()
        self._steps.append(_Step(0))

    def _explain(self, step: _Step, loss: torch.Tensor | None, inputs: list[torch.Tensor]) -> tuple[str | None, str]:
        for kind, tensors in (("input", inputs), ("target", [target for _, target, _ in step.calls])):
            for tensor in tensors:
                place = _nonfinite(tensor)
                if place:
                    return "nonfinite-inputs", f"{place} of the {kind}s"
        growth = self._growth()
        if growth:
            return "nan-from-growth", growth
        # weights that are bad before the loss is computed were spoilt by the update before it; when the news comes late,
        # they are bad in any case
        poisoned = loss is not None and self._weights_are_bad()
        given = (
            autopsy.operands(loss)
            if loss is not None
            else [held for held in step.operands if not held.tensor.isnan().any()]
        )
        verdicts = [] if poisoned else self._verdicts(given, gradient=False)
        if poisoned or (loss is None and not verdicts):
            earlier = [held for held in self._steps if held.number == step.number - 1]
            operands = [operand for held in earlier for operand in held.operands if not operand.tensor.isnan().any()]
            verdicts = self._verdicts(operands, gradient=True)
        if loss is not None and not poisoned and not any(verdict.origin == "half" for verdict in verdicts):
            overflow = autopsy.half_overflow(loss)
            if overflow:
                return "nan-from-half-overflow", overflow
        if verdicts:
            return ORIGINS[verdicts[-1].origin], verdicts[-1].evidence  # the one farthest from the loss came first
        return None, ""

    def _verdicts(self, operands: list[Operand], *, gradient: bool) -> list[Verdict]:
        return [verdict for operand in operands if (verdict := autopsy.judge(operand, gradient=gradient)) is not None]

    def _growth(self) -> str | None:
        """The loss had grown by orders of magnitude before it left the numbers."""
        past = [abs(float(loss)) for loss in self._losses]
        finite = [loss for loss in past if math.isfinite(loss)]
        first = [value for loss in self._first_losses[:3] if math.isfinite(value := abs(float(loss)))]
        if len(finite) < 2 or not first:
            return None
        last, start = finite[-1], max(min(first), 1e-6)
        usual = sorted(finite)[len(finite) // 2]
        rising = len(finite) < 3 or finite[-1] > finite[-2] or finite[-2] > finite[-3]
        if rising and (last > GROWTH * start or (last > HUGE and last > 10 * usual)):
            return f"the loss had grown from {start:.3g} to {last:.3g}"
        return None

    def _weights_are_bad(self) -> bool:
        weights = optimized(self._optimizers.values()).values()
        return any(not bool(torch.isfinite(weight).all()) for weight in weights if watchable(weight))

    def _inputs(self, step: _Step, loss: torch.Tensor | None) -> list[torch.Tensor]:
        if loss is not None:
            found = autopsy.data_in(loss)
            if found:
                return found
        return [tensor for tensor in tensors_in(step.batch) if tensor.is_floating_point() and tensor.dim() >= 2]

    def _save(self, step: _Step, inputs: list[torch.Tensor]) -> None:
        """Keep the offending batch, as plain tensors."""
        targets = [target for _, target, _ in step.calls]
        if not (inputs or targets) or sum(t.nbytes for t in (*inputs, *targets)) > SAVED or self.hub.store.broken:
            return
        folder = self.hub.store.folder / "batches"
        try:
            folder.mkdir(exist_ok=True)
            contents = {
                "update": step.number + 1,
                "inputs": [t.cpu() for t in inputs],
                "targets": [t.cpu() for t in targets],
            }
            torch.save(contents, folder / f"step-{step.number + 1}.pt")
        except OSError:
            return  # a full disk costs the batch, not the recording


def _nonfinite(tensor: torch.Tensor) -> str | None:
    """'NaN in row 3, column 2' of a tensor."""
    if not tensor.is_floating_point() or not watchable(tensor) or bool(torch.isfinite(tensor).all()):
        return None
    bad = ~torch.isfinite(tensor)
    kind = "NaN" if bool(torch.isnan(tensor).any()) else "Inf"
    places = bad.nonzero()
    rows = sorted({int(row) for row in places[:200, 0]}) if tensor.dim() else []
    text = f"{kind} in {int(bad.sum())} of {tensor.numel()} values"
    if tensor.dim() and len(rows) < 50:
        text += f", row{'s' if len(rows) > 1 else ''} {names_of(rows)}"
    if tensor.dim() == 2 and tensor.shape[1] > 1:
        several = sorted({int(column) for column in places[:200, 1]})
        text += (
            f", column{'s' if len(several) > 1 else ''} {names_of(several)}" if len(several) < tensor.shape[1] else ""
        )
    return text


OBSERVER = NonFinite
