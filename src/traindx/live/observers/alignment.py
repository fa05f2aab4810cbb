"""Do training labels belong to their inputs? Told by comparing the training data with the evaluation data.

Near inputs have like labels in most data. Where that holds for the samples that are evaluated and not at all for those that
are trained on, and the model fails on the former, the training labels were dealt out to the wrong inputs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.neighbours import agreement, distinct, enough, features_of
from traindx.live.observer import Criterion, Observer
from traindx.live.rows import watchable
from traindx.live.tensors import first_input, tensors_in

MOST = 512  # samples of each side
LEAST = 96
RELATED = 10.0  # standard deviations above chance: evaluation labels follow from the inputs
UNRELATED = 2.5  # and below this, training labels do not
HALF = 0.5  # of what neighbours alone reach: a model that learnt from such labels does worse
BYTES = 8 << 20  # of a batch that is looked at


@dataclass(slots=True)
class _Side:
    """Samples and their labels, as they were first seen."""

    rows: list[torch.Tensor] = field(default_factory=list)
    labels: list[torch.Tensor] = field(default_factory=list)
    count: int = 0

    def add(self, data: torch.Tensor, labels: torch.Tensor) -> None:
        if self.rows and (
            self.rows[0].shape[1:] != features_of(data[:1]).shape[1:] or self.labels[0].dtype != labels.dtype
        ):
            return
        room = MOST - self.count
        self.rows.append(features_of(data[:room]))
        self.labels.append(labels[:room].detach().reshape(-1).clone())
        self.count += len(self.rows[-1])

    def whole(self) -> tuple[torch.Tensor, torch.Tensor]:
        rows, labels = torch.cat(self.rows), torch.cat(self.labels)
        once = distinct(rows)  # an evaluation may go through the data twice
        return rows[once], labels[once]


class Alignment(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
        self._trained, self._held = _Side(), _Side()
        self._waiting: tuple[torch.Tensor, torch.Tensor] | None = (
            None  # a batch of which it is not known what it is for
        )
        self._given: torch.Tensor | None = None  # what the model was called with last
        self._loaded = False  # training batches come from a loader,
        self._fresh = False  # which has handed one out since the last update
        self._right = self._asked = 0.0  # predictions of the last evaluation
        self._evaluations = 0
        self._between = False

    @property
    def _full(self) -> bool:
        return self._trained.count >= MOST and self._held.count >= MOST

    # --- samples come in ----------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._loaded = self._fresh = True
        if self._full:
            return
        self._was_evaluated()
        tensors = list(tensors_in(batch))
        self._waiting = (tensors[0], tensors[1]) if len(tensors) == 2 and _usable(tensors[0], tensors[1]) else None

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        # what is trained on comes from the loader, what is evaluated on may still be cut from a tensor
        elsewhere = self._loaded and (self._fresh or self.hub.grad)
        self._given = None if elsewhere or self._full else first_input(args, kwargs)

    on_glance = on_forward

    def on_criterion(self, call: Criterion) -> None:
        training = call.output.requires_grad
        given, self._given = self._given, None
        if given is not None and _usable(given, call.target) and (training or self._between):
            side = self._trained if training else self._held
            if side.count < MOST:
                side.add(given, call.target)
        if not training and self._between and _classified(call):
            self._right += float((call.input.argmax(1) == call.target).sum())
            self._asked += len(call.target)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._waiting is not None:
            if self._trained.count < MOST:
                self._trained.add(*self._waiting)
            self._waiting = None
        if self._between and self._asked:
            self._evaluations += 1
            if self._evaluations == 3:
                self._judge()
            self._right = self._asked = 0.0
        self._between = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between, self._fresh = True, False

    def on_end(self) -> None:
        self._was_evaluated()
        self._judge()

    def _was_evaluated(self) -> None:
        if self._waiting is not None and self._between and self._held.count < MOST:
            self._held.add(*self._waiting)
        self._waiting = None

    # --- and are judged -----------------------------------------------------------------------------------------------

    def _judge(self) -> None:
        if not self._trained.count or not self._held.count:
            return
        trained, held = self._trained.whole(), self._held.whole()
        if not enough(trained[1], LEAST) or not enough(held[1], LEAST) or trained[1].dtype != held[1].dtype:
            return
        here, there = agreement(*trained), agreement(*held)
        if there.sure() < RELATED or here.sure(there.score) < RELATED:
            return  # neighbours tell nothing in this kind of data, or training samples are too few or too much alike
        numbers = held[1].is_floating_point()
        what = "correlation with the label" if numbers else "accuracy"
        text = (
            f"The nearest neighbours of a sample tell its label with {what} {there.score:.2f} in the evaluation data, and with "
            f"{here.score:.2f} in {len(trained[1])} training samples"
        )
        if here.sure() > UNRELATED:
            self._findings.add(Finding("labels-unrelated", False, f"{text}."))
        elif numbers or (self._asked and self._right / self._asked < HALF * there.score):
            self._findings.add(
                Finding("labels-unrelated", True, f"{text}, as if those labels had been dealt out at random.")
            )


def _classified(call: Criterion) -> bool:
    """Scores and labels in host memory, one label for each row."""
    plain = call.input.dim() == 2 and call.input.is_cpu and watchable(call.input)
    return plain and call.name in ("cross_entropy", "nll_loss") and call.target.shape == call.input.shape[:1]


def _usable(data: torch.Tensor, labels: torch.Tensor) -> bool:
    """Rows of numbers in host memory with one label each."""
    return (
        data.dim() >= 2 and data.is_floating_point() and data.is_cpu and labels.is_cpu and watchable(data) and watchable(labels)
        and not data.requires_grad and data.nbytes <= BYTES and labels.dim() in (1, 2) and labels.numel() == len(data)
    )  # fmt: skip


OBSERVER = Alignment
