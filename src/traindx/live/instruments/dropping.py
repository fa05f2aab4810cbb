"""Measures dropout that is called as a function: no layer shows its rate, but the graph keeps the mask that it
multiplied with; and `model.eval()` does not reach it, so that it may go on dropping while the model is evaluated."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps, on_deep_steps_and_evaluation
from traindx.live.events.places import caller, variables
from traindx.live.measures.autopsy import nodes
from traindx.live.measures.nodes import kind_of
from traindx.live.measures.packing import Packing
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import DroppedInEvaluation, StrongestDropout

DROPOUT = torch.nn.modules.dropout._DropoutNd
MAX_LOOKS = 2  # at the graph
MAX_NODES = 4000  # of it
MIN_NUMBERS = 256  # of a mask, from which the share of zeros shows the rate
MAX_EVALUATIONS = 8  # that are written down
NEAR = 0.05  # between that share and the rate that the other numbers stand for: else it is no mask of a dropout


class Dropping(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._packing = Packing(hub)
        self._looks = 0
        self._rate = 0.0
        self._dropped = False  # by a layer in eval mode, since the model was called last
        self._evaluated = ""  # the model in eval mode that dropped something since the last update
        self._input = 0
        self._repeated = False  # one batch is answered several times, to see how far the answers scatter: that is meant
        self._evaluations = 0

    def attach(self) -> None:
        self._packing.attach()
        self.hub.patch(torch.nn.functional, "dropout", self._around_dropout)

    def _around_dropout(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def dropout(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Any:
            if training and not torch.is_grad_enabled() and not torch.compiler.is_compiling() and p > 0:
                layer = variables(caller()).get("self")
                self._dropped = self._dropped or (isinstance(layer, torch.nn.Module) and not layer.training)
            return original(input, p, training, inplace)

        return dropout

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        dropped, self._dropped = self._dropped, False
        if dropped and not self.hub.grad and not any(module.training for module in model.modules()):
            given = first_input(args, kwargs)
            here = given.data_ptr() if given is not None else 0
            self._repeated = self._repeated or (bool(self._evaluated) and here == self._input)
            self._evaluated, self._input = type(model).__name__, here

    on_sampled_call = on_forward

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if not self._evaluated or call.output.requires_grad or not self.hub.step:
            return
        self._evaluations += 1
        name, self._evaluated = self._evaluated, ""
        if self._evaluations <= MAX_EVALUATIONS:
            self.hub.measure(DroppedInEvaluation(evaluations=self._evaluations, repeated=self._repeated, where=name))

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._looks >= MAX_LOOKS or loss.grad_fn is None or self._packing.seen or not watchable(loss.detach()):
            return
        self._looks += 1
        masks = [mask for node in nodes(loss.grad_fn, MAX_NODES) if (mask := _mask(node)) is not None]
        if masks:
            self._copies.ask(
                torch.stack([_summary(mask) for mask in masks]).flatten(), partial(self._measure, len(masks))
            )

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _measure(self, count: int, numbers: list[float]) -> None:
        rates = []
        for place in range(count):
            zeros, low, high = numbers[3 * place : 3 * place + 3]
            if low == high > 1 and abs(zeros - (1 - 1 / high)) < NEAR:
                rates.append(1 - 1 / high)
        rate = max(rates, default=0.0)
        if rate > max(self._rate, NEAR + self._rate_of_layers()):  # else the mask may be that of a layer
            self._rate = rate
            self.hub.config(dropout=rate)
            self.hub.measure(StrongestDropout(rate=rate, is_layer=False))

    def _rate_of_layers(self) -> float:
        layers = (layer for model in self.hub.models.values() for layer in model.modules())
        return max((float(layer.p) for layer in layers if isinstance(layer, DROPOUT)), default=0.0)


def _mask(node: Any) -> torch.Tensor | None:
    """What is not learnt and multiplies something of its own shape."""
    if kind_of(node) != "Mul" or len(node.next_functions) != 2 or node.next_functions[1][0] is not None:
        return None
    other = node._saved_other
    fits = (
        isinstance(other, torch.Tensor)
        and other.is_floating_point()
        and other.numel() >= MIN_NUMBERS
        and watchable(other)
    )
    return other.detach() if fits else None


def _summary(mask: torch.Tensor) -> torch.Tensor:
    """The share of zeros, and the smallest and the largest of the other numbers."""
    numbers = mask.flatten()[: 64 * MIN_NUMBERS].float()
    off = numbers == 0
    low = torch.where(off, torch.inf, numbers).amin()
    return torch.stack([off.float().mean(), low, numbers.amax()])


OBSERVER = Dropping
