"""Measures which layers the error of a model that rebuilds its input reaches. Those that take the input in may be cut
off by a detached code: a penalty alone trains them then, and they still have gradients, so that nothing else shows
it."""

from __future__ import annotations

from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.graph import graph_of
from traindx.live.measures.handmade import is_error
from traindx.live.measures.nodes import above, kind_of
from traindx.live.measures.outputs import REGRESSION
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input
from traindx.measurements import ErrorReach

REBUILDING = REGRESSION | {"binary_cross_entropy", "binary_cross_entropy_with_logits"}
ENOUGH = 2  # looks in a row with layers that are missed: walking both graphs takes long, and more would show the same
NAMED = 3  # parameters of each kind that are written down
# Between a loss and what a divergence is made of.
TERMS = frozenset(("Add", "Sub", "Rsub", "Mul", "Div", "Neg", "Mean", "Sum", "View", "Squeeze", "ToCopy", "Clone"))


class Reconstruction(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        # called since the last `backward`, with what
        self._models: list[tuple[torch.nn.Module, torch.Tensor | None]] = []
        self._losses: list[Criterion] = []
        self._in_a_row = 0

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self.hub.grad and self._in_a_row < ENOUGH and len(self._models) < 2:
            self._models.append((model, first_input(args, kwargs)))

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        if call.output.requires_grad and self._in_a_row < ENOUGH and len(self._losses) < 2:
            self._losses.append(call)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        models, losses = self._models, self._losses
        self._models, self._losses = [], []
        if self._in_a_row >= ENOUGH or len(models) != 1 or len(losses) != 1 or losses[0].name not in REBUILDING:
            return
        (model, given), call = models[0], losses[0]
        if given is None or not _same(given, call.target) or not _penalised(loss):
            return
        whole, error = graph_of(loss), graph_of(call.output)
        if not whole.whole or not error.whole:
            return
        reached = {id(leaf) for leaf in error.leaves}
        behind = {id(leaf) for leaf in whole.leaves} - reached
        named = list(model.named_parameters())
        missed = [name for name, parameter in named if id(parameter) in behind]
        entry = [name for name, parameter in named if id(parameter) in behind and _takes(parameter, given)]
        ends = [name for name, parameter in named if id(parameter) in reached]
        self._in_a_row = self._in_a_row + 1 if entry and ends else 0
        self.hub.measure(
            ErrorReach(
                criterion=call.name,
                reached=tuple(ends[:NAMED]),
                missed=tuple(missed[:NAMED]),
                missed_count=len(missed),
                missed_entry=entry[0] if entry else "",
                in_a_row=self._in_a_row,
                where=call.where,
            )
        )


def _same(given: torch.Tensor, target: torch.Tensor) -> bool:
    """Whether the target is what the model was called with."""
    if given.numel() != target.numel() or given.dtype != target.dtype or given.device != target.device:
        return False
    if not watchable(given) or not watchable(target):
        return False
    return given.data_ptr() == target.data_ptr() or bool(torch.equal(given.reshape(-1), target.reshape(-1)))


def _penalised(loss: torch.Tensor) -> bool:
    """Whether a loss holds an exponential beside the loss function, and no error that is written out."""
    nodes = list(above(loss, TERMS))
    return any(kind_of(node) == "Exp" for node in nodes) and not any(is_error(node) for node in nodes)


def _takes(parameter: torch.Tensor, given: torch.Tensor) -> bool:
    """Whether this may be the weight of a layer that data of this shape goes into."""
    return parameter.dim() >= 2 and parameter.shape[1] in (
        given.shape[-1],
        given.shape[min(1, given.dim() - 1)],
        given[0].numel(),
    )


OBSERVER = Reconstruction
