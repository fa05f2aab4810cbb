"""Measures, where a sample has several labels of yes or no, what a guess by how often each of them is given costs."""

from __future__ import annotations

import math
from functools import partial

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps, on_every_step
from traindx.live.measures.first_pass import BINARY, MOST_COLUMNS, binary_entropy
from traindx.live.measures.rows import SAMPLE, watchable
from traindx.live.recording.async_copy import AsyncCopy

EVERY = 20  # updates between two looks at least, beside deep steps
GROWTH = 0.1  # of the updates so far
MOST_ROWS = 1 << 12
NEVER = 1 << 62
SETTLED = 100  # updates before a loss at chance says something: good runs begin there too
SAME = 0.01  # share by which two losses may differ that are one: half precision has three digits
SURE = 0.02  # of the cost, its own standard error: half of what a level that was counted is given
LEAST_LOG = -100.0  # as torch clamps logarithms of probabilities


class LabelRates(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._labels: list[torch.Tensor] = []
        self._rows = 0
        self._next_look = 0
        self._plain: bool | None = None  # what is trained on is the mean of these losses, each counted once
        self._output: torch.Tensor | None = None  # of the loss function in this deep step

    @on_every_step
    def on_criterion(self, call: Criterion) -> None:
        if not call.output.requires_grad:
            return
        if self.hub.deep:
            self._output = call.output.detach()
        elif self.hub.step < self._next_look:
            return
        several = _several(call)
        done = self._plain is False or self._rows >= MOST_ROWS or not (several or self.hub.step < SETTLED)
        self._next_look = NEVER if done else self.hub.step + max(EVERY, int(GROWTH * self.hub.step))
        self.hub.skip_losses(self, self._next_look)
        if several and not done:
            given = (call.input.detach(), call.target.detach(), call.output.detach())
            self._copies.bring_all(given, partial(self._counted, call.name))

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        self._copies.poll()
        output, self._output = self._output, None
        if output is None or not self._labels or loss.numel() != 1 or not watchable(loss):
            return
        if output.numel() == 1 and output.device == loss.device:
            both = torch.stack([loss.detach().reshape(()).float(), output.reshape(()).float()])
            self._copies.ask(both, lambda found: self._is_plain(*found))
        else:
            self._plain = False

    def on_models_freed(self) -> None:
        self._copies.poll(wait=True)

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if self._plain and self._labels and self.hub.step >= SETTLED:
            cost = _cost_of_a_guess(torch.cat(self._labels))
            if cost is not None:
                self.hub.config(multilabel_entropy=cost)

    def _counted(self, name: str, scores: torch.Tensor, labels: torch.Tensor, output: torch.Tensor) -> None:
        labels = labels.float()
        proper = float(labels.min()) >= 0 and float(labels.max()) <= 1
        if not proper or (self._labels and self._labels[0].shape[1] != labels.shape[1]):
            self._plain = False
            return
        self._labels.append(labels.clone())
        self._rows += len(labels)
        if math.isfinite(float(output)):
            self._is_plain(float(output), _mean_loss(name, scores.float(), labels))

    def _is_plain(self, one: float, other: float) -> None:
        """Two losses that should be the same: not where some count more than others, are summed up, or are one of
        several."""
        if math.isfinite(one) and math.isfinite(other):
            self._plain = self._plain is not False and abs(one - other) <= SAME * abs(other)


def _several(call: Criterion) -> bool:
    """The mean loss of rows of several labels. Rows that are too many to be brought from a device are left alone."""
    return (
        call.name in BINARY and call.target.dim() == 2 and call.target.shape == call.input.shape
        and 1 < call.target.shape[1] <= MOST_COLUMNS and call.output.numel() == 1 and call.target.numel() <= SAMPLE
        and watchable(call.input) and watchable(call.target) and watchable(call.output)
    )  # fmt: skip


def _mean_loss(name: str, scores: torch.Tensor, labels: torch.Tensor) -> float:
    if name == "binary_cross_entropy":
        yes, no = (one.log().clamp(min=LEAST_LOG) for one in (scores, 1 - scores))
        return float(-(labels * yes + (1 - labels) * no).mean())
    return float((torch.nn.functional.softplus(scores) - labels * scores).mean())


def _cost_of_a_guess(labels: torch.Tensor) -> float | None:
    """The mean entropy of the labels; None where they were too few to know it."""
    labels = labels.double()
    shares = labels.mean(0)
    cost = float(binary_entropy(shares).mean())
    each = -(labels.xlogy(shares) + (1 - labels).xlogy(1 - shares)).mean(1)  # a label that is never given costs nothing
    known = cost > 0 and len(each) > 1 and float(each.std()) < SURE * cost * math.sqrt(len(each))
    return cost if known else None


OBSERVER = LabelRates
