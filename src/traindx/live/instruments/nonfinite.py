"""Measures the first loss or gradient that is NaN or Inf: the data, the operations before it and what they were
given, the weights, and the losses before.

In host memory the loss is looked at before its backward pass, while the graph still holds what every operation was
given, and the gradients of a few parameters far from the loss after it. On a GPU the news comes a step later; what was
held of the last steps must then do."""

from __future__ import annotations

import math
import weakref
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps, on_every_step
from traindx.live.events.naming import optimized
from traindx.live.events.step_buffer import BufferedStep
from traindx.live.measures import autopsy
from traindx.live.measures.autopsy import Operand
from traindx.live.measures.blame import layer_name, reach_of
from traindx.live.measures.held import HeldStep
from traindx.live.measures.packing import Packing
from traindx.live.measures.preparing import is_finite, maker_of, whole_columns
from traindx.live.measures.rerun import Rerun
from traindx.live.measures.routes import Routes
from traindx.live.measures.rows import watchable
from traindx.live.measures.source import line_of
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.keeping import drawn, keep_batch, users_tensors
from traindx.live.recording.values import Number
from traindx.measurements import BadData, FirstNonFinite, LossesSeen, Operation

MAX_STEPS = 96  # held until the news of their loss has come, as far as MAX_BYTES goes
MAX_LOSSES = 50  # before, that are kept
FIRST_LOSSES = 3
MAX_BYTES = 50 << 20  # of an offending batch that is kept
MAX_OPERATIONS = 8  # the farthest from the loss
MAX_INDICES = 4  # of rows, samples and columns that are named
FIRST_LOOKS = 3  # steps at which the arithmetic of the loss is looked for
SPARE = 0.5  # of the budget: below it, operations far from the loss are held as well
SENTINELS = 2  # parameters far from the loss whose gradients are looked at
SENTINEL_SIZE = 1 << 14
EXAMINED_WITH_SCALER = 20  # which loss is examined there: only one is, and the first ones are the search for a scale


class NonFinite(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._steps: deque[HeldStep] = deque([HeldStep(0)], maxlen=MAX_STEPS)
        self._losses: deque[Number] = deque(maxlen=MAX_LOSSES)
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
        if not self._done and sum(t.nbytes for t in tensors_in(batch)) < MAX_BYTES // 2:
            if self._steps[-1].number < self.hub.step:  # its end was reported briefly, or will be
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
        if len(self._first_losses) < FIRST_LOSSES:
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
    def buffered(self) -> bool:
        return self._done or not self._routes.steep

    def on_steps(self, steps: Sequence[BufferedStep], losses: Sequence[Number]) -> None:
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

    def on_models_freed(self) -> None:
        self._sentinels.clear()
        self._known.clear()
        for step in self._steps:
            self._bytes -= step.bytes
            step.forget()

    def on_end(self) -> None:
        self.hub.values.poll(wait=True)
        self._hear()
        if not self._done and self._losses:
            self.hub.measure(LossesSeen(losses=len(self._losses), nonfinite=self._bad))

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
            if self._bytes <= MAX_BYTES:
                break
            self._bytes -= step.bytes
            step.forget()
        if len(self._steps) == MAX_STEPS:
            self._bytes -= self._steps[0].bytes

    # --- the post-mortem ----------------------------------------------------------------------------------------------

    def _died(self, step: HeldStep, loss: torch.Tensor | None) -> None:
        """A loss that is not finite; with a graph to read when the loss itself is given."""
        if self._done:
            return
        self._bad += 1
        if self._scaled and self._bad < EXAMINED_WITH_SCALER:
            return
        graph = loss if loss is not None and not self._packing.seen else None
        inputs = self._inputs(step, graph)
        data = self._bad_data(step, inputs)
        if data is not None:
            data = self._with_origin(data, step, inputs)
        sound = None if loss is None else not self._weights_are_bad()
        operations = self._operations(step, graph, sound)
        path = autopsy.path_to(graph) if graph is not None else None
        rerun, compiled = None, ""
        unexplained = data is None and not operations and not (path is not None and path.half_infinite)
        if unexplained and loss is not None and sound:  # only then: it runs the user's code
            rerun = self._rerun.origin(step.batch)
            compiled = self._rerun.compiled(loss)
        self._measure(
            step,
            inputs,
            what="loss",
            data=data,
            weights_finite=sound,
            operations=operations,
            path=path,
            rerun=rerun,
            compiled=compiled,
        )

    def _died_in_backward(self, step: HeldStep, loss: torch.Tensor) -> None:
        """The loss is finite and the gradients are not."""
        inputs = self._inputs(step, None)
        operations = self._examined([(None, operand) for operand in step.operands], gradient=True)
        reach = None if operations else reach_of(loss, self.hub)
        self._measure(
            step, inputs, what="gradients", data=self._bad_data(step, inputs), operations=operations, reach=reach
        )

    def _measure(self, step: HeldStep, inputs: list[torch.Tensor], **found: Any) -> None:
        self._done = True
        self.hub.measure(
            FirstNonFinite(
                update=step.number + 1,
                nonfinite=self._bad,
                scaled=self._scaled,
                first=_finite_sizes(self._first_losses),
                recent=_finite_sizes(self._losses),
                searched=bool(inputs and step.calls),
                batch=self._save(step, inputs) or "",
                where=next((place for _, _, place in step.calls if place), step.where) or user_line(),
                **found,
            )
        )
        self._steps.clear()
        self._steps.append(HeldStep(0))

    def _operations(self, step: HeldStep, loss: torch.Tensor | None, sound: bool | None) -> tuple[Operation, ...]:
        """Of the graph, or of what was held of the step; where nothing is found, or weights that are bad before the
        loss is computed were spoilt by the update before, of the step before. When the news comes late, weights are
        bad in any case."""
        if sound is not False:
            if loss is not None:
                return self._examined(list(autopsy.risky(loss)), gradient=False)
            found = self._examined(_unspoilt(step.operands), gradient=False)
            if found:
                return found
        earlier = [operand for held in self._steps if held.number == step.number - 1 for operand in held.operands]
        return self._examined(_unspoilt(earlier), gradient=True)

    def _examined(self, pairs: list[tuple[Any, Operand]], *, gradient: bool) -> tuple[Operation, ...]:
        """The operations that leave the finite numbers, with their nodes where there is a graph; the farthest last."""
        found = [
            (node, operation)
            for node, operand in pairs
            if (operation := autopsy.examine(operand, gradient=gradient)) is not None
        ]
        return tuple(
            operation._replace(layer=layer_name(node, self.hub) if node is not None else "", line=self._line(operation))
            for node, operation in found[-MAX_OPERATIONS:]
        )

    def _line(self, operation: Operation) -> str:
        word = operation.name
        kind = "log" if word in autopsy.LOGS.values() else "arc" if word in autopsy.ARCS.values() else word
        return line_of("division" if kind == "reciprocal" else kind, self.hub.models.values()) or ""

    def _bad_data(self, step: HeldStep, inputs: list[torch.Tensor]) -> BadData | None:
        for of, tensors in (("inputs", inputs), ("targets", [target for _, target, _ in step.calls])):
            for tensor in tensors:
                if tensor.is_floating_point() and tensor.numel() and not bool(torch.isfinite(tensor).all()):
                    return _described(of, tensor, step.indices)
        return None

    def _with_origin(self, data: BadData, step: HeldStep, inputs: list[torch.Tensor]) -> BadData:
        """Data that came as they are, or that the user's code made so on their way to the model."""
        finite = is_finite(step.batch)
        maker = None
        if step.number == self.hub.step:  # the functions that prepared the batch are still running
            loader = self._loader() if self._loader is not None else None
            dataset = getattr(loader, "dataset", None)
            maker = maker_of(whole_columns(inputs), finite, getattr(dataset, "dataset", dataset))
        return data._replace(batch_finite=finite, made_by=maker)

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


def _finite_sizes(losses: Iterable[Number]) -> tuple[float, ...]:
    return tuple(abs(loss.value) for loss in losses if loss.value is not None and math.isfinite(loss.value))


def _unspoilt(operands: list[Operand]) -> list[tuple[Any, Operand]]:
    return [(None, operand) for operand in operands if not bool(operand.tensor.isnan().any())]


def _described(of: str, tensor: torch.Tensor, indices: Sequence[int] | None) -> BadData:
    """Where a tensor that holds NaN or Inf does so, and which samples of the data set those rows are."""
    bad = ~torch.isfinite(tensor)
    rows = bad.reshape(len(bad), -1).any(1).nonzero().flatten().tolist() if tensor.dim() else []
    known = indices if indices is not None and tensor.dim() and len(indices) == tensor.shape[0] else None
    columns = bad.any(0).nonzero().flatten().tolist() if tensor.dim() == 2 else []
    if tensor.dim() == 2 and len(columns) == tensor.shape[1]:
        columns = []
    return BadData(
        of=of,
        kind="NaN" if bool(tensor.isnan().any()) else "Inf",
        bad=int(bad.sum()),
        elements=tensor.numel(),
        rows=tuple(rows[:MAX_INDICES]),
        rows_bad=len(rows),
        samples=tuple(int(known[row]) for row in rows[:MAX_INDICES]) if known is not None else (),
        columns=tuple(columns[:MAX_INDICES]),
        columns_bad=len(columns),
    )


OBSERVER = NonFinite
