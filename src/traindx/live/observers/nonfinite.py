"""The post-mortem of the first loss or gradient that is NaN or Inf: data, logarithm, division, the range of float16, or
growth before.

In host memory the loss is looked at before its backward pass, while the graph still holds what every operation was given, and
the gradients of a few parameters far from the loss after it. On a GPU the news comes a step later; what was held of the last
steps must then do.
"""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from traindx.live import autopsy
from traindx.live.autopsy import Operand, Verdict
from traindx.live.blame import layer_name, suspect_of
from traindx.live.brief import BriefStep
from traindx.live.findings import Finding, Findings
from traindx.live.held import HeldStep
from traindx.live.hub import Hub, user_line
from traindx.live.keeping import drawn, keep_batch, users_tensors
from traindx.live.naming import optimized
from traindx.live.observer import Criterion, Observer, on_deep_steps, on_every_step
from traindx.live.packing import Packing
from traindx.live.preparing import is_finite, maker_of, whole_columns
from traindx.live.rerun import Rerun
from traindx.live.routes import Routes
from traindx.live.rows import watchable
from traindx.live.source import line_of
from traindx.live.tensors import spoilt_values, tensors_in
from traindx.live.values import Number

STEPS = 96  # held until the news of their loss has come, as far as SAVED goes
LOSSES = 50
GROWTH = 1e3  # times the loss before, and
HUGE = 1e12  # or this large outright: no loss of a working training is
SAVED = 50 << 20  # bytes of an offending batch that is kept
FIRST_LOOKS = 3  # steps at which the arithmetic of the loss is looked for
SPARE = 0.5  # of the budget: below it, operations far from the loss are held as well
SENTINELS = 2  # parameters far from the loss whose gradients are looked at
SENTINEL_SIZE = 1 << 14
OPERATIONS = {"sqrt": "nan-from-division", "division": "nan-from-division", "power": "nan-from-division", "arc": "nan-from-division",
              "log": "nan-from-log"}  # fmt: skip
PATIENCE = 20  # steps that a gradient scaler may skip before its overflow is a fault
ORIGINS = {
    "log": "nan-from-log",
    "division": "nan-from-division",
    "empty-mean": "nan-from-division",
    "half": "nan-from-half-overflow",
}
ALL = ("nonfinite-inputs", "nan-from-log", "nan-from-division", "nan-from-half-overflow", "nan-from-growth")


class NonFinite(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
        self._steps: deque[HeldStep] = deque([HeldStep(0)], maxlen=STEPS)
        self._losses: deque[Number] = deque(maxlen=LOSSES)
        self._first_losses: list[Number] = []
        self._sites: dict[str, set[str]] = {}  # file:line by loss function
        self._optimizers: weakref.WeakValueDictionary[int, torch.optim.Optimizer] = weakref.WeakValueDictionary()
        self._known: set[int] = set()
        self._routes = Routes()
        self._rerun = Rerun()
        self._sentinels: list[torch.Tensor] = []
        self._packing = Packing(hub)
        self._loader: weakref.ref[Any] | None = None  # that gave out the last batch
        self._scaled = False
        self._unheard: deque[tuple[int, HeldStep, Number]] = deque()
        self._late = False  # the losses are on a device: news of them comes later
        self._bytes = 0
        self._bad = 0
        self._done = False

    def attach(self) -> None:
        self._packing.attach()
        self.hub.patch(torch.amp.GradScaler, "scale", self._around_scale)
        drawn.attach(self.hub)

    def _around_scale(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def scale(scaler: Any, outputs: Any) -> Any:
            self._scaled = self._scaled or scaler.is_enabled()
            return original(scaler, outputs)

        return scale

    # --- what is held -------------------------------------------------------------------------------------------------

    @on_every_step
    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if not self._done and sum(t.nbytes for t in tensors_in(batch)) < SAVED // 2:
            if self._steps[-1].number < self.hub.step:  # its end was told briefly, or will be
                self._turn(self.hub.step)
            self._steps[-1].batch = batch
            self._steps[-1].indices = drawn.last
            if self._loader is None or self._loader() is not loader:
                self._loader = weakref.ref(loader)

    def on_criterion(self, call: Criterion) -> None:
        calls = self._steps[-1].calls
        if self._done or not self.hub.grad or not call.output.requires_grad or len(calls) >= 8:
            return
        sites = self._sites.get(call.name)
        if sites is None or self.hub.deep:  # looking for the line costs a microsecond or two
            sites = self._sites.setdefault(call.name, set())
            sites.add(call.where)
        where = next(iter(sites)) if len(sites) == 1 else call.where
        held = call.input.detach() if call.input.nbytes <= autopsy.SMALL else None
        if call.target.nbytes <= autopsy.SMALL:
            calls.append((held, call.target, where))

    @on_deep_steps
    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self.hub.grad and not self._done:
            self._rerun.note(model, args, kwargs, self._steps[-1].batch)

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._done or loss.numel() != 1 or (self.hub.deep and not (watchable(loss) and loss.is_floating_point())):
            return
        number = self.hub.number_of(loss)
        if number is None:
            return
        step = self._steps[-1]
        self._losses.append(number)
        if len(self._first_losses) < 5:
            self._first_losses.append(number)
        if number.value is None:
            self._late = True
            self._unheard.append((step.number, step, number))
        elif not math.isfinite(number.value):
            self._died(step, loss)
            return
        if self.hub.step < FIRST_LOOKS:
            self._choose_sentinels(loss)
        if not self._packing.seen and (self._routes.steep or not self.hub.resting):
            far = self.hub.deep or self.hub.cost < SPARE * self.hub.budget
            step.operands = self._routes.operands(loss, far=far, anew=self.hub.deep)
            if step.operands and not step.calls and not step.where:
                step.where = user_line()

    def on_gradients(self, loss: torch.Tensor) -> None:
        """The loss was finite; are the gradients, as far as a look at two of them tells?"""
        if self._done or self._scaled:
            return
        for parameter in self._sentinels:
            gradient = parameter.grad
            if gradient is not None and gradient.is_cpu and not math.isfinite(gradient.sum().item()):
                if not bool(torch.isfinite(gradient).all()):
                    self._died_in_backward(self._steps[-1], loss)
                return

    def _choose_sentinels(self, loss: torch.Tensor) -> None:
        """Small parameters, the farthest from the loss: a gradient that breaks on the way is broken there."""
        leaves = [
            leaf
            for node in autopsy.nodes(loss.grad_fn, autopsy.MOST_NODES)
            if (leaf := getattr(node, "variable", None)) is not None
        ]
        small = [leaf for leaf in leaves if leaf.numel() <= SENTINEL_SIZE and watchable(leaf) and leaf.is_cpu]
        self._sentinels = small[-SENTINELS:] if loss.grad_fn is not None else []

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._done:
            return
        if id(optimizer) not in self._known:
            self._known.add(id(optimizer))
            self._optimizers[id(optimizer)] = optimizer
        if self._late:
            self._hear()
        if self.hub.resting and not self._routes.steep and self._steps[-1].batch is None:
            self._steps[-1].number = self.hub.step + 1  # nothing is held of it
            return
        self._turn(self.hub.step + 1)

    def _turn(self, number: int) -> None:
        """To another step. Where losses are known at once, the step before is all that can be asked for."""
        if self._late:
            self._hold()
            self._steps.append(HeldStep(number))
        elif len(self._steps) == 1:
            self._steps.append(HeldStep(0))
        else:
            self._steps.rotate(1)
            self._steps[-1].forget()
        self._steps[-1].number = number

    @property
    def briefly(self) -> bool:
        return self._done or not self._routes.steep

    def on_brief(self, steps: Sequence[BriefStep], losses: Sequence[Number]) -> None:
        if self._done:
            return
        for update, noted in (*((step.step, step.losses) for step in steps), (self.hub.step, losses)):
            self._losses.extend(noted)
            late = [number for number in noted if number.value is None]
            if late:
                self._late = True
                held = next((step for step in self._steps if step.number == update), HeldStep(update))
                self._unheard.extend((update, held, number) for number in late)
        if self._late:
            self._hear()
        if steps and self._steps[-1].batch is None:
            self._steps[-1].number = steps[-1].step + 1

    def on_farewell(self) -> None:
        self._sentinels.clear()
        self._known.clear()
        for step in self._steps:
            self._bytes -= step.bytes
            step.forget()

    def on_end(self) -> None:
        self.hub.values.poll(wait=True)
        self._hear()
        if not self._done and not self._bad and len(self._losses) >= FIRST_LOOKS:
            for identifier in ALL[:-1]:  # growth may stop short of NaN
                self._findings.add(Finding(identifier, False, "No loss was NaN or Inf."))

    def _hear(self) -> None:
        """The losses that have arrived from a device since the last step."""
        while self._unheard and (self._unheard[0][2].value is not None or self._unheard[0][2].lost):
            update, step, number = self._unheard.popleft()
            if not math.isfinite(number.value or 0.0):
                self._died(step if step.number == update else HeldStep(update), None)

    def _hold(self) -> None:
        """The step is over: hold it while there is room, and let the oldest go."""
        self._steps[-1].bytes = self._steps[-1].size()
        self._bytes += self._steps[-1].bytes
        for step in self._steps:
            if self._bytes <= SAVED:
                break
            self._bytes -= step.bytes
            step.forget()
        if len(self._steps) == STEPS:
            self._bytes -= self._steps[0].bytes

    # --- the post-mortem ----------------------------------------------------------------------------------------------

    def _died(self, step: HeldStep, loss: torch.Tensor | None) -> None:
        """The first loss that is not finite; with a graph to read when the loss itself is given."""
        if self._done:
            return
        self._bad += 1
        if self._scaled and self._bad < PATIENCE:
            return  # the scaler skips such a step and lowers its scale: that is its purpose
        graph = loss if loss is not None and not self._packing.seen else None
        inputs = self._inputs(step, graph)
        identifier, evidence, where = self._explain(step, graph, inputs)
        head = f"The loss of update {step.number + 1} is not finite"
        if identifier is None and loss is not None and not self._weights_are_bad():
            origin = self._rerun.origin(loss, step.batch)
            if origin is not None:
                identifier, evidence, where = origin.symptom, origin.evidence, origin.where
                self.hub.fact("nonfinite-activation", True, f"{head}: {evidence}.", where=where)
        if identifier is None and graph is not None and autopsy.in_half(graph) is False:
            told = f"{head}, but no number on the way to it is a float16."
            self._findings.add(Finding("nan-from-half-overflow", False, told))
        self._tell(step, inputs, identifier, evidence, where, head)

    def _died_in_backward(self, step: HeldStep, loss: torch.Tensor) -> None:
        """The loss is finite and the gradients are not."""
        inputs = self._inputs(step, None)
        identifier, evidence, where = self._spoilt_data(step, inputs), "", None
        growth = self._growth()
        verdicts = self._verdicts(step.operands, gradient=True)
        if identifier is not None:
            identifier, evidence = "nonfinite-inputs", identifier
        elif growth:
            identifier, evidence = "nan-from-growth", growth
        elif verdicts:
            identifier, evidence = ORIGINS[verdicts[-1][1].origin], verdicts[-1][1].evidence
            where = self._line(verdicts[-1][0])
        else:
            suspect = suspect_of(loss, self.hub)
            if suspect is not None:
                identifier, evidence = OPERATIONS.get(suspect.operation), suspect.evidence
                where = suspect.where or line_of(suspect.operation, self.hub.models.values())
        head = f"The gradients of update {step.number + 1} are not finite"
        if evidence:
            self.hub.fact("nonfinite-gradient", True, f"{head}: {evidence}.", where=where or step.where or user_line())
        self._tell(step, inputs, identifier, evidence, where, head)

    def _tell(
        self, step: HeldStep, inputs: list[torch.Tensor], identifier: str | None, evidence: str, where: str | None, head: str
    ) -> None:  # fmt: skip
        self._done = True
        where = where or next((place for _, _, place in step.calls if place), step.where) or user_line()
        saved = self._save(step, inputs)
        if identifier is not None:
            kept = f" The batch is in {saved} of the recording." if saved else ""
            self._findings.add(Finding(identifier, True, f"{head}: {evidence}.{kept}"), where)
            for other in ALL:
                self._findings.add(Finding(other, False, f"{head} for another reason: {evidence}."))
        elif inputs and step.calls:
            self._findings.add(Finding("nonfinite-inputs", False, f"{head}, but inputs and targets are."))
        self._steps.clear()
        self._steps.append(HeldStep(0))

    def _explain(
        self, step: HeldStep, loss: torch.Tensor | None, inputs: list[torch.Tensor]
    ) -> tuple[str | None, str, str | None]:
        """The symptom, a sentence, and the line where the operation stands."""
        spoilt = self._spoilt_data(step, inputs)
        if spoilt:
            return self._spoilt_by(spoilt, step, inputs)
        growth = self._growth()
        if growth:
            return "nan-from-growth", growth, None
        # weights that are bad before the loss is computed were spoilt by the update before it; when the news comes late,
        # they are bad in any case
        poisoned = loss is not None and self._weights_are_bad()
        pairs = list(autopsy.risky(loss)) if loss is not None else []
        given = (
            [operand for _, operand in pairs]
            if loss is not None
            else [held for held in step.operands if not held.tensor.isnan().any()]
        )
        verdicts = [] if poisoned else self._verdicts(given, gradient=False)
        if poisoned or (loss is None and not verdicts):
            earlier = [held for held in self._steps if held.number == step.number - 1]
            operands = [operand for held in earlier for operand in held.operands if not operand.tensor.isnan().any()]
            verdicts = self._verdicts(operands, gradient=True)
        if loss is not None and not poisoned and not any(verdict.origin == "half" for _, verdict in verdicts):
            overflow = autopsy.half_overflow(loss)
            if overflow:
                return "nan-from-half-overflow", overflow, None
        if not verdicts:
            grown = autopsy.outgrown(loss) if loss is not None and not poisoned else None
            return ("nan-from-growth", grown, None) if grown else (None, "", None)
        operand, verdict = verdicts[-1]  # the one farthest from the loss came first
        layer = next((layer_name(node, self.hub) for node, one in pairs if one is operand), "")
        after = f", after layer {layer}" if layer else ""
        return ORIGINS[verdict.origin], f"{verdict.evidence}{after}", self._line(operand)

    def _spoilt_by(self, spoilt: str, step: HeldStep, inputs: list[torch.Tensor]) -> tuple[str | None, str, str | None]:
        """Data that came as they are, or that the user's code made so on their way to the model."""
        finite = is_finite(step.batch)
        maker = None
        if step.number == self.hub.step:  # the functions that prepared the batch are still running
            loader = self._loader() if self._loader is not None else None
            dataset = getattr(loader, "dataset", None)
            maker = maker_of(whole_columns(inputs), finite, getattr(dataset, "dataset", dataset))
        if maker is not None:
            return maker.symptom, f"{spoilt}, which {maker.text} made of finite numbers", maker.where
        if finite:
            made = "the batch that the loader gave out is finite, so the code between loader and model made it"
            return "nan-from-division", f"{spoilt}; {made} (normalised by a spread of zero?)", None
        return "nonfinite-inputs", spoilt, None

    def _line(self, operand: Operand) -> str | None:
        word = operand.operation
        kind = "log" if word in autopsy.LOGS.values() else "arc" if word in autopsy.ARCS.values() else word
        return line_of("division" if kind == "reciprocal" else kind, self.hub.models.values())

    def _spoilt_data(self, step: HeldStep, inputs: list[torch.Tensor]) -> str | None:
        for kind, tensors in (("input", inputs), ("target", [target for _, target, _ in step.calls])):
            for tensor in tensors:
                spoilt = spoilt_values(tensor, step.indices)
                if spoilt:
                    return f"{spoilt} of the {kind}s"
        return None

    def _verdicts(self, operands: list[Operand], *, gradient: bool) -> list[tuple[Operand, Verdict]]:
        judged = ((operand, autopsy.judge(operand, gradient=gradient)) for operand in operands)
        return [(operand, verdict) for operand, verdict in judged if verdict is not None]

    def _growth(self) -> str | None:
        """The loss had grown by orders of magnitude before it left the numbers."""
        finite = _finite_sizes(self._losses)
        first = _finite_sizes(self._first_losses[:3])
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

    def _inputs(self, step: HeldStep, loss: torch.Tensor | None) -> list[torch.Tensor]:
        if loss is not None:
            found = autopsy.data_in(loss)
            if found:
                return found
        found = [tensor for tensor in tensors_in(step.batch) if tensor.is_floating_point() and tensor.dim() >= 2]
        if not found and step.number == self.hub.step:  # no loader: what the user's function has at hand
            mine = users_tensors(step.rows()).values()
            found = [tensor for tensor in mine if tensor.is_floating_point() and tensor.dim() >= 2]
        return found

    def _save(self, step: HeldStep, inputs: list[torch.Tensor]) -> str | None:
        """Keep the offending batch, as plain tensors."""
        targets = [target for _, target, _ in step.calls]
        if not (inputs or targets):
            return None
        contents = {
            "update": step.number + 1, "inputs": inputs, "targets": targets, "indices": step.indices,
            "variables": users_tensors(step.rows()) if step.number == self.hub.step else {},
        }  # fmt: skip
        return keep_batch(self.hub, f"step-{step.number + 1}", contents)


def _finite_sizes(losses: Iterable[Number]) -> list[float]:
    return [abs(loss.value) for loss in losses if loss.value is not None and math.isfinite(loss.value)]


OBSERVER = NonFinite
