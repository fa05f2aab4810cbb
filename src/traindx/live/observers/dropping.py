"""Dropout that is called as a function: no layer tells its rate, but the graph keeps the mask that it multiplied with; and
`model.eval()` does not reach it, so that it may go on dropping while the model is evaluated."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.live.autopsy import nodes
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.nodes import kind_of
from traindx.live.observer import Criterion, Observer, on_deep_steps, on_deep_steps_and_evaluation
from traindx.live.observers.phases import MOST_DROPPED
from traindx.live.packing import Packing
from traindx.live.rows import watchable
from traindx.live.tensors import first_input

LOOKS = 2
MOST_NODES = 4000
LEAST = 256  # numbers of a mask, from which the share of zeros tells the rate
EVALUATIONS = 2  # with a loss, in which something was dropped
NEAR = 0.05  # between that share and the rate that the other numbers stand for


class Dropping(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._packing = Packing(hub)
        self._looks = 0
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
                layer = sys._getframe(1).f_locals.get("self")
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

    on_glance = on_forward

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if not self._evaluated or call.output.requires_grad or not self.hub.step:
            return
        self._evaluations += 1
        name, self._evaluated = self._evaluated, ""
        if self._evaluations == EVALUATIONS and not self._repeated and "evaluated-in-train-mode" not in self.hub.found:
            text = (
                f"Dropout that is called as a function with training=True acted while {name} was evaluated in eval mode: model.eval() does "
                "not reach it."
            )
            self.hub.fact("evaluated-in-train-mode", True, text, where=name)

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._looks >= LOOKS or loss.grad_fn is None or self._packing.seen or not watchable(loss.detach()):
            return
        self._looks += 1
        masks = [mask for node in nodes(loss.grad_fn, MOST_NODES) if (mask := _mask(node)) is not None]
        if masks:
            self._later.ask(torch.stack([_told(mask) for mask in masks]).flatten(), partial(self._judge, len(masks)))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._later.poll()

    def on_end(self) -> None:
        self._later.poll(wait=True)

    def _judge(self, count: int, numbers: list[float]) -> None:
        rates = []
        for place in range(count):
            zeros, low, high = numbers[3 * place : 3 * place + 3]
            if low == high > 1 and abs(zeros - (1 - 1 / high)) < NEAR:
                rates.append(1 - 1 / high)
        rate = max(rates, default=0.0)
        if rate >= MOST_DROPPED and "dropout-drops-most" not in self.hub.found:
            self.hub.config(dropout=rate)
            text = f"The strongest dropout, called as a function, drops {rate:.0%} of its inputs."
            self.hub.fact("dropout-drops-most", True, text)


def _mask(node: Any) -> torch.Tensor | None:
    """What is not learnt and multiplies something of its own shape."""
    if kind_of(node) != "Mul" or len(node.next_functions) != 2 or node.next_functions[1][0] is not None:
        return None
    other = node._saved_other
    fits = isinstance(other, torch.Tensor) and other.is_floating_point() and other.numel() >= LEAST and watchable(other)
    return other.detach() if fits else None


def _told(mask: torch.Tensor) -> torch.Tensor:
    """The share of zeros, and the smallest and the largest of the other numbers."""
    numbers = mask.flatten()[: 64 * LEAST].float()
    off = numbers == 0
    low = torch.where(off, torch.inf, numbers).amin()
    return torch.stack([off.float().mean(), low, numbers.amax()])


OBSERVER = Dropping
