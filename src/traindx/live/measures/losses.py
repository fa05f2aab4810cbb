"""Measures the loss that `backward` is called on: how it was made from the loss function's result, or by hand from the
outputs.

How many samples it sums up, whether its sign is that of the error, which way the updates go, and in a loss that is
written out the operations that change shapes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import msgspec
import torch

from traindx.live.events.instrument import Criterion
from traindx.live.events.places import user_line
from traindx.live.measures.direction import Direction
from traindx.live.measures.handmade import is_error
from traindx.live.measures.nodes import Node, above, chain, dim_of, inputs, kind_of, shape_of
from traindx.live.measures.signs import sign_of_error
from traindx.loss_functions import MINIMISED, OVER_CLASSES
from traindx.measurements import LossDirection, LossOperation, LossReduction

# Operations between a criterion's result and `backward`.
SCALING = frozenset(("Mul", "Div", "Neg", "ToCopy", "View", "Squeeze", "Clone"))
TERMS = frozenset(("Add", "View", "Squeeze", "ToCopy", "Clone"))
PICKING = SCALING | frozenset(("Mean", "Sum", "Index", "Gather", "Select", "Unsqueeze", "NllLoss", "NllLoss2D"))
ELEMENTWISE = frozenset(
    ("Add", "Sub", "Rsub", "Pow", "Abs", "Sqrt", "Log", "Exp", "Where", "Clamp", "Maximum", "Minimum", "Square", "Norm")
)
SOFTMAXES = ("Softmax", "LogSoftmax")
MAX_CALLS = 16  # of loss functions between two backward passes that are remembered
MAX_PLACES = 32  # for which the largest step on a sum is kept

Made = dict[int, tuple[Criterion, torch.Tensor]]


@dataclass(frozen=True, slots=True)
class _Route:
    """The operations from the loss upwards, and the first result of a loss function among them: its place, its call and
    what it returned."""

    nodes: list[Node]
    kinds: list[str]
    place: int = 0
    call: Criterion | None = None
    value: torch.Tensor | None = None


class Losses:
    """Follows the loss from the loss function to the update."""

    def __init__(self) -> None:
        self.batch = 0  # samples the model was last called with
        self.where = ""
        self.direction = Direction()
        self._made: Made = {}  # criterion results since the last step, by graph node
        self._reduced: tuple[str, str, int] | None = None  # loss, form and samples summed in the last backward pass
        self._steepest: dict[tuple[str, str], LossReduction] = {}  # by place and optimiser
        self._passes = self._turned = self._upright = 0
        self._error: tuple[str, float, float] = ("", 0.0, 0.0)  # of the latest pass that was turned
        self._optimizers: set[int] = set()

    @property
    def made(self) -> bool:
        """Whether a loss function of torch was called since the last `backward`."""
        return bool(self._made)

    def criterion(self, call: Criterion) -> None:
        if call.output.grad_fn is not None and len(self._made) < MAX_CALLS:
            self._made[call.output.grad_fn._sequence_nr()] = (call, call.output.detach())

    def backward(self, loss: torch.Tensor, *, readable: bool) -> None:
        """`readable` says that no hooks of the user pack what the graph keeps."""
        made, self._made = self._made, {}
        route = _route(loss, made)
        call = route.call
        self.where = call.where if call is not None else next((one.where for one, _ in made.values()), "")
        self._passes += 1
        self._reduced = self._reduction(loss, route, made)
        sign = sign_of_error(loss, is_error) if readable and not made else 0
        if sign < 0:
            self.where = user_line()
        error = ("errors", 0.0, 0.0) if sign < 0 else _turned(loss, route)
        if error is not None:
            self._turned += 1
            self._error = error
        else:
            self._turned = 0
            self._upright += call is not None or sign > 0

    def step(self, optimizer: torch.optim.Optimizer) -> LossReduction | None:
        """How the loss of this update is reduced; None where it cannot be seen."""
        if self._reduced is None:
            return None
        loss, form, samples = self._reduced
        rate = max(
            (float(group["lr"]) for group in optimizer.param_groups if isinstance(group.get("lr"), float)), default=0.0
        )
        kind = type(optimizer).__name__
        now = LossReduction(
            loss=loss, form=form, samples=samples, rate=rate, optimizer=kind, passes=self._passes, where=self.where
        )
        if not samples:
            return now
        key = (self.where, kind)
        before = self._steepest.get(key, now)
        if before.rate * before.samples > rate * samples:
            now = msgspec.structs.replace(before, passes=self._passes)
        if key in self._steepest or len(self._steepest) < MAX_PLACES:
            self._steepest[key] = now
        return now

    def updated(self, optimizer: torch.optim.Optimizer) -> LossDirection:
        """Whether the updates so far, with the one just made, make the error smaller or larger."""
        self._optimizers.add(id(optimizer))
        self.direction.after()
        error, value, error_value = self._error
        return LossDirection(
            passes=self._passes,
            turned=self._turned,
            upright=self._upright,
            error=error,
            value=value,
            error_value=error_value,
            optimizers=len(self._optimizers),
            maximize=any(bool(group.get("maximize")) for group in optimizer.param_groups),
            cosines=tuple(self.direction.cosines),
            where=self.where,
        )

    def _reduction(self, loss: torch.Tensor, route: _Route, made: Made) -> tuple[str, str, int] | None:
        """The loss function, the form of the reduction, and how many samples are summed without a division."""
        if route.call is not None and route.value is not None:
            return _reduction_of(route.call, route.value, route.kinds[: route.place])
        term = _added(loss, made)
        if term is not None:
            self.where = term.where
            return term.name, "added sum", _samples(term)
        if route.kinds and route.kinds[0] == "Sum":
            sizes = tuple(int(size) for size in getattr(route.nodes[0], "_saved_self_sym_sizes", ()))
            if sizes and sizes[0] == self.batch > 1:
                return "", "sum", sizes[0]
        return None

    def written_out(self, loss: torch.Tensor) -> Iterator[LossOperation]:
        """Softmaxes and subtractions in a loss that no function of torch made."""
        for node in above(loss, ELEMENTWISE | PICKING):
            kind, shape = kind_of(node), shape_of(node)
            given: tuple[int, ...] = ()
            given_by = ""
            if kind in ("Sub", "Rsub"):
                parts = inputs(node)
                given = shape_of(*parts[0]) if len(parts) == 1 else shape
                given_by = kind_of(parts[0][0]) if parts else ""
            elif kind not in SOFTMAXES:
                continue
            if kind in SOFTMAXES or given != shape:
                dim = dim_of(node, len(shape))
                yield LossOperation(
                    operation=kind,
                    shape=shape,
                    dim=dim,
                    given=given,
                    given_by=given_by,
                    samples=self.batch,
                    where=self.where,
                )


def _route(loss: torch.Tensor, made: Made) -> _Route:
    nodes = list(chain(loss, PICKING))
    kinds = [kind_of(node) for node in nodes]
    for place, node in enumerate(nodes):
        if node._sequence_nr() in made:
            return _Route(nodes, kinds, place, *made[node._sequence_nr()])
    return _Route(nodes, kinds)


def _reduction_of(call: Criterion, value: torch.Tensor, between: list[str]) -> tuple[str, str, int] | None:
    """`between` are the operations from the result of a loss function to `backward`."""
    if call.options.get("reduction") != "sum":
        return (call.name, "mean", 0) if value.numel() == 1 else None
    if "Div" in between or "Mul" in between:
        return call.name, "scaled sum", 0
    return call.name, "sum", _samples(call)


def _samples(call: Criterion) -> int:
    """How many targets are summed: of class numbers each one, of rows of numbers each row."""
    if call.name in OVER_CLASSES and not call.target.is_floating_point():
        return call.target.numel()
    return call.target.shape[0] if call.target.dim() else 1


def _turned(loss: torch.Tensor, route: _Route) -> tuple[str, float, float] | None:
    """What minimising this loss makes large: a criterion, or the negative log-likelihood; with the loss and the
    criterion."""
    kinds = route.kinds
    if route.call is not None and route.value is not None:
        between = set(kinds[: route.place])
        scaled = between <= SCALING and bool(between & {"Neg", "Mul", "Div"})
        if route.call.name not in MINIMISED or route.value.numel() != 1 or not scaled:
            return None
        now, was = torch.stack([loss.detach().double().reshape(()), route.value.double().reshape(())]).tolist()
        return (route.call.name, now, was) if now * was < 0 else None
    if kinds and kinds[-1] == "LogSoftmax" and {"Gather", "Index"} & set(kinds) and "Mul" not in kinds:
        picked = any(kind.startswith("NllLoss") for kind in kinds)
        if not picked and kinds.count("Neg") % 2 == 0 and (now := float(loss.detach())) < 0:
            return "likelihood", now, 0.0
    return None


def _added(loss: torch.Tensor, made: Made) -> Criterion | None:
    """A summed criterion that is a term of the loss as it is, beside others."""
    for node in above(loss, TERMS):
        call = made.get(node._sequence_nr(), (None, None))[0]
        if call is not None and call.options.get("reduction") == "sum":
            return call
    return None
