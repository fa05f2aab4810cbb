"""Measures what single samples of a training batch cost: label, prediction and loss of the worst and of a few picked at
random, with a small picture of each where the data is not private."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.measures.picks import CLASSES, KNOWN, Costs, chosen, finite
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input, wants_gradients
from traindx.live.measures.thumbnails import first_numbers, pixels, range_of, small
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import ShownSample, ShownSamples

MAX_ROWS = 64  # of a batch that are looked at
MAX_SCORES = 1 << 16  # numbers that a model gives out for them
EARLIEST = 16  # update after which looks beside deep steps are asked for,
LATER = 4  # and again after such a part of the updates so far
GROWTH = 4  # looks 1, 4, 16, … are written at once, the last one at the end


class SampleLosses(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._data: torch.Tensor | None = None  # what the model was called with
        self._looks = 0
        self._next = 1
        self._next_call = EARLIEST
        self._last: ShownSamples | None = None  # not written yet

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if self.hub.grad and wants_gradients(output):
            self._data = first_input(args, kwargs)

    on_sampled_call = on_forward

    def on_criterion(self, call: Criterion) -> None:
        data, self._data = self._data, None
        if (
            not (self.hub.deep or self.hub.sampling_calls)
            or not call.output.requires_grad
            or call.name not in KNOWN
            or not _each_a_sample(call, data)
        ):
            return
        scores, target = call.input.detach()[:MAX_ROWS], call.target.detach()[:MAX_ROWS]
        inputs = () if data is None or self.hub.private or not watchable(data) else (small(data[:MAX_ROWS]),)
        if any(one.device != scores.device for one in inputs):
            inputs = ()
        shape = tuple(data.shape[1:]) if data is not None else ()
        then = partial(self._look, call.name, dict(call.options), call.where, len(call.input), shape, self.hub.step)
        self._copies.bring_all((scores, target, *inputs), then)

    def on_backward(self, loss: torch.Tensor) -> None:
        self._data = None

    def on_depth(self, deep: bool) -> None:
        self._data = None

    def on_models_freed(self) -> None:
        self._data = None

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()
        if self.hub.step >= self._next_call:
            self._next_call = self.hub.step + self.hub.step // LATER
            self.hub.sample_calls(evaluation=False)  # a model that is trained gets other samples wrong

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if self._last is not None:
            self.hub.measure(self._last)

    def _look(
        self, name: str, options: dict[str, Any], where: str, rows: int, shape: tuple[int, ...], step: int,
        scores: torch.Tensor, target: torch.Tensor, *inputs: torch.Tensor
    ) -> None:  # fmt: skip
        costs = Costs(name, scores, target, options)
        hidden = self.hub.private and costs.kind == "number"  # such labels are values of the data
        self._last = ShownSamples(
            criterion=name, labels=costs.kind, rows=rows, looked_at=len(costs.rows), shape=shape,
            samples=tuple(
                _shown(costs, row, worst, inputs[0][row] if inputs else None, hidden)
                for row, worst in chosen(costs, step)
            ),
            private=self.hub.private, seen=step, where=where,
        )  # fmt: skip
        self._looks += 1
        if self._looks >= self._next:
            self._next *= GROWTH
            self.hub.measure(self._last)
            self._last = None


def _each_a_sample(call: Criterion, data: torch.Tensor | None) -> bool:
    """Whether a row of the scores is a row of the data. Of language models the rows are tokens, shown elsewhere."""
    scores, target = call.input, call.target
    if not (watchable(scores) and watchable(target)) or scores.is_complex() or scores.dim() == 0 or target.dim() == 0:
        return False
    if len(scores) != len(target) or len(scores) < 2 or scores.numel() // len(scores) * MAX_ROWS > MAX_SCORES:
        return False
    fits = scores.dim() > 1 if call.name in CLASSES else scores.shape == target.shape
    if not fits:
        return False
    return data is None or len(data) == len(scores)


def _shown(costs: Costs, row: int, worst: bool, data: torch.Tensor | None, hidden: bool) -> ShownSample:
    loss = costs.losses[row]
    size, picture = pixels(data) if data is not None and data.dim() == 3 else ((), "")
    return ShownSample(
        row=row,
        worst=worst,
        loss=finite(loss),
        label=() if hidden else costs.label(row),
        prediction=() if hidden else costs.prediction(row),
        probability=costs.probability(row),
        range=range_of(data) if data is not None else (),
        numbers=first_numbers(data) if data is not None and not picture else (),
        size=size,
        picture=picture,
    )


OBSERVER = SampleLosses
