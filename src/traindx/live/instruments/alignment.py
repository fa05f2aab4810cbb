"""Measures whether training labels belong to their inputs: how well they follow from them in the training data and in
the evaluation data, and what the model makes of samples that it has not met.

Near inputs have like labels in most data. Where that holds for the samples that are evaluated and not at all for
those that are trained on, and the model fails on the former, the training labels were given to the wrong inputs.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.measures.first_pass import MOST_COLUMNS, FirstPass, has_several, size_of_source
from traindx.live.measures.neighbours import (
    Agreement,
    agreement,
    by_words,
    correlations,
    distinct,
    enough,
    features_of,
    most_frequent,
    on_a_line,
    tails,
    unspoilt,
    varied,
)
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input, tensors_in
from traindx.measurements import FreshSamples, LabelRelation

MAX_ROWS = 512  # samples of each side
MIN_SAMPLES = 96  # of a side that is measured: neighbours of fewer are far
SIZE_LOOKS = 3  # updates before which the table is looked for that batches are cut from
EVALUATIONS = 3  # after which the two sides are compared for the first time
MIN_WORDS = 4  # of a sequence
MAX_BYTES = 8 << 20  # of a batch that is looked at


@dataclass(slots=True)
class _Side:
    """Samples and their labels, as they were first seen."""

    rows: list[torch.Tensor] = field(default_factory=list)
    labels: list[torch.Tensor] = field(default_factory=list)
    count: int = 0

    def add(self, data: torch.Tensor, labels: torch.Tensor) -> None:
        room = MAX_ROWS - self.count
        labels = _labels_of(labels[:room])
        if self.rows and (
            self.rows[0].shape[1:] != features_of(data[:1]).shape[1:]
            or self.labels[0].shape[1:] != labels.shape[1:]
            or self.labels[0].dtype != labels.dtype
        ):
            return
        self.rows.append(features_of(data[:room]))
        self.labels.append(labels)
        self.count += len(self.rows[-1])

    def whole(self) -> tuple[torch.Tensor, torch.Tensor]:
        rows, labels = torch.cat(self.rows), torch.cat(self.labels)
        sound = unspoilt(rows) & unspoilt(labels.reshape(len(labels), -1))
        rows, labels = rows[sound], labels[sound]
        once = distinct(rows)  # an evaluation may go through the data twice
        return rows[once], labels[once]


class Alignment(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._trained, self._held = _Side(), _Side()
        self._waiting: tuple[torch.Tensor, torch.Tensor] | None = None  # a batch; it is not known yet what it is for
        self._given: torch.Tensor | None = None  # what the model was called with last
        self._loaded = False  # training batches come from a loader,
        self._fresh = False  # which has handed one out since the last update
        self._right = self._asked = 0.0  # predictions of the last evaluation,
        # and answers with several numbers, beside what was wanted
        self._answers: list[tuple[torch.Tensor, torch.Tensor]] = []
        self._answered = self._answers  # those of the evaluation before
        self._evaluations = 0
        self._between = False
        self._pass = FirstPass()
        self._tokens = False  # inputs are numbers of words
        self._length = 0  # of the dataset of the first loader
        self._calls = 0  # of models since the last `backward`
        self._single = True  # one model was called, with one tensor: labels are about that alone

    @property
    def _full(self) -> bool:
        return self._trained.count >= MAX_ROWS and self._held.count >= MAX_ROWS

    # --- samples come in ----------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if not self._loaded:
            with suppress(TypeError, AttributeError, NotImplementedError):  # it does not know its length
                self._length = len(loader.dataset)
        self._loaded = self._fresh = True
        if self._full and self._pass.over:
            return
        self._was_evaluated()
        tensors = list(tensors_in(batch))
        self._waiting = (tensors[0], tensors[1]) if len(tensors) == 2 and _usable(tensors[0], tensors[1]) else None

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        # what is trained on comes from the loader, what is evaluated on may still be cut from a tensor
        elsewhere = self._loaded and (self._fresh or self.hub.grad)
        self._given = None if elsewhere else first_input(args, kwargs)
        if self.hub.grad:
            self._calls += 1
            self._single = self._single and self._calls == 1 and len(list(tensors_in((args, kwargs)))) == 1
            if (
                self._given is not None
                and not self._pass.size
                and self.hub.step < SIZE_LOOKS
                and watchable(self._given)
            ):
                self._pass.size = size_of_source(self._given)

    on_sampled_call = on_forward

    def on_criterion(self, call: Criterion) -> None:
        training = call.output.requires_grad
        given, self._given = self._given, None
        if given is not None and _usable(given, call.target) and (training or self._between):
            self._add(self._trained if training else self._held, given, call.target)
        if training:
            self._pass.loss(call)
        if training or not self._between:
            return
        if _classified(call):
            self._right += float((call.input.argmax(1) == call.target).sum())
            self._asked += len(call.target)
        elif has_several(call) and watchable(call.input) and sum(len(one) for one, _ in self._answers) < MAX_ROWS:
            self._answers.append((call.input.detach()[:MAX_ROWS].clone(), call.target.detach()[:MAX_ROWS].clone()))

    def on_backward(self, loss: torch.Tensor) -> None:
        self._calls = 0
        if self._waiting is not None:
            self._pass.size = self._pass.size or self._length
            self._add(self._trained, *self._waiting)
            self._waiting = None
        if self._between and (self._asked or self._answers):
            self._evaluations += 1
            if self._evaluations == EVALUATIONS:
                self._compare()
            self._right = self._asked = 0.0
            self._answered, self._answers = self._answers, []
        self._between = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between, self._fresh = True, False

    def on_end(self) -> None:
        self._was_evaluated()
        self._compare(ended=True)
        self._measure_alone()
        for tail in tails(torch.cat(self._trained.rows)) if self._trained.count else ():
            self.hub.measure(tail)

    def _was_evaluated(self) -> None:
        if self._waiting is not None and self._between:
            self._add(self._held, *self._waiting)
        self._waiting = None

    def _add(self, side: _Side, data: torch.Tensor, labels: torch.Tensor) -> None:
        if (
            side is self._trained
            and not self._pass.over
            and (side.count < MAX_ROWS or self.hub.deep or self.hub.sampling_calls)
        ):
            self._pass.samples(features_of(data[:MAX_ROWS]))
        if side.count < MAX_ROWS:
            self._tokens = self._tokens or not data.is_floating_point()
            side.add(data, labels)

    # --- and are measured ---------------------------------------------------------------------------------------------

    def _compare(self, *, ended: bool = False) -> None:
        """The training data beside the evaluation data."""
        if not self._trained.count or not self._held.count:
            return
        (rows, labels), (others, wanted) = self._trained.whole(), self._held.whole()
        if not enough(labels, MIN_SAMPLES) or not enough(wanted, MIN_SAMPLES) or not _alike(labels, wanted):
            return
        kind = "number" if wanted.is_floating_point() else "class"
        both = varied(labels) & varied(wanted) if labels.dim() == 2 else None
        if both is not None:
            if not both.any():
                return
            kind, labels, wanted = "several", labels[:, both], wanted[:, both]
        here, there = self._relation(rows, labels), self._relation(others, wanted)
        self.hub.measure(
            LabelRelation(
                samples=len(labels),
                labels=kind,
                columns=1 if both is None else labels.shape[1],
                tokens=self._tokens,
                ended=ended,
                score=here.score,
                deviations=here.sure(),
                expected=here.sure(there.score),
                held_score=there.score,
                held_chance=there.chance,
                held_deviations=there.sure(),
                model=self._score(both),
            )
        )

    def _score(self, columns: torch.Tensor | None) -> float | None:
        """How well the model tells the labels of the last evaluation."""
        if columns is None:
            return self._right / self._asked if self._asked else None
        answered = self._answers or self._answered
        if not answered or any(one.shape[1] != len(columns) for one, _ in answered):
            return None
        answers, targets = (torch.cat(one)[:, columns] for one in zip(*answered, strict=True))
        return float(correlations(answers, targets).mean())

    def _relation(self, rows: torch.Tensor, labels: torch.Tensor) -> Agreement:
        """How well the labels follow from the inputs. Of bags of tokens all are far from each other, and a few words
        tell the label."""
        words = self._tokens and not labels.is_floating_point()
        return by_words(rows, labels) if words else agreement(rows, labels)

    def _measure_alone(self) -> None:
        """What neighbours, a regression and the model itself find in the training data."""
        if not self._single or not self._trained.count:
            return
        rows, labels = self._trained.whole()
        progress = self._pass.progress()
        if progress is None or not enough(labels, MIN_SAMPLES):
            return
        frequent = most_frequent(labels)
        if labels.dim() == 2:
            if progress.columns != labels.shape[1]:
                return  # the loss is about something else
            labels = labels[:, varied(labels)]
            if not labels.shape[1]:
                return
        ways = (self._relation,) if self._tokens else (agreement, on_a_line)
        self.hub.measure(
            FreshSamples(
                samples=len(labels),
                tokens=self._tokens,
                frequent=frequent,
                deviations=max(way(rows, labels).sure() for way in ways),
                chance=progress.chance,
                fresh=progress.fresh,
                last=progress.last,
            )
        )


def _classified(call: Criterion) -> bool:
    """Scores and labels in host memory, one label for each row."""
    plain = call.input.dim() == 2 and call.input.is_cpu and watchable(call.input)
    return plain and call.name in ("cross_entropy", "nll_loss") and call.target.shape == call.input.shape[:1]


def _usable(data: torch.Tensor, labels: torch.Tensor) -> bool:
    """Rows of numbers or tokens in host memory with one label each, or rows of numbers with several."""
    tokens = data.dtype in (torch.int64, torch.int32) and data.dim() == 2 and data.shape[1] >= MIN_WORDS
    plain = all(one.is_cpu and watchable(one) for one in (data, labels)) and not data.requires_grad
    rows = data.dim() >= 2 and (tokens or data.is_floating_point()) and data.nbytes <= MAX_BYTES
    return (
        plain
        and rows
        and labels.dim() in (1, 2)
        and (labels.numel() == len(data) or (not tokens and _several(data, labels)))
    )


def _several(data: torch.Tensor, labels: torch.Tensor) -> bool:
    """Several labels or numbers about the whole of a sample: not the sample itself, nor an answer for each of its
    points or moments."""
    if labels.dim() != 2 or len(labels) != len(data) or not 1 < labels.shape[1] <= MOST_COLUMNS:
        return False
    whole, points = math.prod(data.shape[1:]), math.prod(data.shape[2:])
    moments = data.shape[1] if data.dim() == 3 else whole
    if labels.shape[1] in (whole, points, moments):
        return False
    # whole numbers may be names, as of the words of a sentence; yes and no are not
    return labels.is_floating_point() or bool(((labels == 0) | (labels == 1)).all())


def _labels_of(labels: torch.Tensor) -> torch.Tensor:
    """One label a sample as it is, several as numbers."""
    labels = labels.detach()
    return labels.reshape(-1).clone() if labels.numel() == len(labels) else labels.float().clone()


def _alike(labels: torch.Tensor, others: torch.Tensor) -> bool:
    return labels.dtype == others.dtype and labels.shape[1:] == others.shape[1:]


OBSERVER = Alignment
