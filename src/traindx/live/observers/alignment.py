"""Do training labels belong to their inputs? Told by comparing the training data with the evaluation data, or by the model, which
learns nothing that holds for samples it has not met.

Near inputs have like labels in most data. Where that holds for the samples that are evaluated and not at all for those that
are trained on, and the model fails on the former, the training labels were dealt out to the wrong inputs.
"""

from __future__ import annotations

import math
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.first_pass import MOST_COLUMNS, FirstPass, has_several, size_of_source
from traindx.live.hub import Hub
from traindx.live.neighbours import (
    Agreement,
    agreement,
    by_words,
    correlations,
    distinct,
    enough,
    features_of,
    most_frequent,
    on_a_line,
    strays,
    unspoilt,
    varied,
)
from traindx.live.observer import Criterion, Observer
from traindx.live.rows import watchable
from traindx.live.tensors import first_input, tensors_in

MOST = 512  # samples of each side
LEAST = 96
RELATED = 10.0  # standard deviations above chance: evaluation labels follow from the inputs
UNRELATED = 2.5  # and below this, training labels do not
HALF = 0.5  # of what neighbours alone reach: a model that learnt from such labels does worse,
QUARTER = 0.25  # or goes less of their way from chance
ALONE = 128  # samples at least, where there is nothing to compare them with
SIZE_LOOKS = 3  # updates before which the table is looked for that batches are cut from
ONE_SIDED = 0.8  # share of one label from which hardly anything could be better than always saying it
NO_RELATION = 3.0  # standard deviations that the better of two tests stays below
UPDATES = 100  # before a model that has learnt nothing says something about the labels
MEMORISING, STUCK = 0.85, 0.6  # clarity: a task may be out of reach of neighbours and of this model alike
STRAYS_CLEAR = 0.9  # a stray value may be true
WORDS = 4  # of a sequence, at least
BYTES = 8 << 20  # of a batch that is looked at


@dataclass(slots=True)
class _Side:
    """Samples and their labels, as they were first seen."""

    rows: list[torch.Tensor] = field(default_factory=list)
    labels: list[torch.Tensor] = field(default_factory=list)
    count: int = 0

    def add(self, data: torch.Tensor, labels: torch.Tensor) -> None:
        room = MOST - self.count
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
        self._findings = Findings(hub)
        self._trained, self._held = _Side(), _Side()
        self._waiting: tuple[torch.Tensor, torch.Tensor] | None = (
            None  # a batch of which it is not known what it is for
        )
        self._given: torch.Tensor | None = None  # what the model was called with last
        self._loaded = False  # training batches come from a loader,
        self._fresh = False  # which has handed one out since the last update
        self._right = self._asked = 0.0  # predictions of the last evaluation,
        self._answers: list[
            tuple[torch.Tensor, torch.Tensor]
        ] = []  # and answers with several numbers, beside what was wanted
        self._answered = self._answers  # those of the evaluation before
        self._evaluations = 0
        self._between = False
        self._pass = FirstPass()
        self._told = False
        self._tokens = False  # inputs are numbers of words
        self._length = 0  # of the dataset of the first loader
        self._calls = 0  # of models since the last `backward`
        self._single = True  # one model was called, with one tensor: labels are about that alone

    @property
    def _full(self) -> bool:
        return self._trained.count >= MOST and self._held.count >= MOST

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

    on_glance = on_forward

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
        elif has_several(call) and watchable(call.input) and sum(len(one) for one, _ in self._answers) < MOST:
            self._answers.append((call.input.detach()[:MOST].clone(), call.target.detach()[:MOST].clone()))

    def on_backward(self, loss: torch.Tensor) -> None:
        self._calls = 0
        if self._waiting is not None:
            self._pass.size = self._pass.size or self._length
            self._add(self._trained, *self._waiting)
            self._waiting = None
        if self._between and (self._asked or self._answers):
            self._evaluations += 1
            if self._evaluations == 3:
                self._judge()
            self._right = self._asked = 0.0
            self._answered, self._answers = self._answers, []
        self._between = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between, self._fresh = True, False

    def on_end(self) -> None:
        self._was_evaluated()
        self._judge(ended=True)
        if not self._told:
            self._judge_alone()
        if self._trained.count and "outlier-batch" not in self.hub.found:
            self._look_for_strays(torch.cat(self._trained.rows))

    def _was_evaluated(self) -> None:
        if self._waiting is not None and self._between:
            self._add(self._held, *self._waiting)
        self._waiting = None

    def _add(self, side: _Side, data: torch.Tensor, labels: torch.Tensor) -> None:
        if side is self._trained and not self._pass.over and (side.count < MOST or self.hub.deep or self.hub.glancing):
            self._pass.samples(features_of(data[:MOST]))
        if side.count < MOST:
            self._tokens = self._tokens or not data.is_floating_point()
            side.add(data, labels)

    # --- and are judged -----------------------------------------------------------------------------------------------

    def _judge(self, *, ended: bool = False) -> None:
        if not self._trained.count or not self._held.count:
            return
        (rows, labels), (others, wanted) = self._trained.whole(), self._held.whole()
        if not enough(labels, LEAST) or not enough(wanted, LEAST) or not _alike(labels, wanted):
            return
        both = varied(labels) & varied(wanted) if labels.dim() == 2 else None
        if both is not None:
            if not both.any():
                return
            labels, wanted = labels[:, both], wanted[:, both]
        here, there = self._relation(rows, labels), self._relation(others, wanted)
        if there.sure() < RELATED or here.sure(there.score) < RELATED:
            return  # neighbours tell nothing in this kind of data, or training samples are too few or too much alike
        what = "its label with " + ("correlation with the label" if wanted.is_floating_point() else "accuracy")
        if both is not None:
            what = f"its {wanted.shape[1]} labels with mean correlation"
        text = (
            f"{'The words' if self._tokens else 'The nearest neighbours'} of a sample tell {what} {there.score:.2f} in the evaluation data, and with "
            f"{here.score:.2f} in {len(labels)} training samples"
        )
        self._told = True
        if here.sure() > UNRELATED:
            self._findings.add(Finding("labels-unrelated", False, f"{text}."))
        elif self._failed(there, wanted, both) and (ended or both is None):  # what is slow to learn may yet be learnt
            self._findings.add(
                Finding("labels-unrelated", True, f"{text}, as if those labels had been dealt out at random.")
            )

    def _failed(self, there: Agreement, wanted: torch.Tensor, columns: torch.Tensor | None) -> bool:
        """The model does worse on the evaluation data than one that learnt from labels like theirs. Of single numbers this is not asked."""
        if columns is None:
            return wanted.is_floating_point() or (self._asked > 0 and self._right / self._asked < _out_of_reach(there))
        seen = self._answers or self._answered
        if not seen or any(one.shape[1] != len(columns) for one, _ in seen):
            return False
        answers, targets = (torch.cat(one)[:, columns] for one in zip(*seen, strict=True))
        return float(correlations(answers, targets).mean()) < _out_of_reach(there)

    def _relation(self, rows: torch.Tensor, labels: torch.Tensor) -> Agreement:
        """How well the labels follow from the inputs. Of bags of tokens all are far from each other, and a few words tell the label."""
        words = self._tokens and not labels.is_floating_point()
        return by_words(rows, labels) if words else agreement(rows, labels)

    def _judge_alone(self) -> None:
        """Without evaluation data that tell more: neither neighbours nor a regression nor the model find a relation. Of tokens this is
        not said: where their order tells the label, as in arithmetic, a bag has no relation to it."""
        if not self._single or self._trained.count < ALONE or self.hub.step < UPDATES:
            return
        rows, labels = self._trained.whole()
        progress = self._pass.progress()
        if progress is None or not enough(labels, ALONE) or most_frequent(labels) > ONE_SIDED:
            return
        if labels.dim() == 2:
            if progress.columns != labels.shape[1]:
                return  # the loss is about something else
            labels = labels[:, varied(labels)]
        ways = (self._relation,) if self._tokens else (agreement, on_a_line)
        sure = max(way(rows, labels).sure() for way in ways)
        if sure >= RELATED:
            text = (
                f"Neighbours or a regression tell the labels of {len(labels)} training samples far better than chance."
            )
            self._findings.add(Finding("labels-unrelated", False, text))
        elif sure < NO_RELATION and progress.at_chance and not self._tokens:
            end = "falls to" if progress.memorised else "is"
            text = (
                f"In {len(labels)} training samples neither neighbours nor a regression tell the label better than chance, and the loss on "
                f"samples seen for the first time is {progress.fresh:.3g}, that of a guess {progress.chance:.3g}; it {end} {progress.last:.3g} "
                "in the end."
            )
            self._findings.add(Finding("labels-unrelated", True, text, MEMORISING if progress.memorised else STUCK))

    def _look_for_strays(self, rows: torch.Tensor) -> None:
        stray = strays(rows)
        if stray is not None:
            text = (
                f"{stray.count} of {len(rows)} training samples looked at reach {stray.value:.3g} in feature {stray.feature}; the others lie "
                f"around {stray.usual:.3g}, half of them within {stray.spread:.2g}."
            )
            self._findings.add(Finding("outlier-batch", True, text, STRAYS_CLEAR))


def _out_of_reach(there: Agreement) -> float:
    """The accuracy that a model stays below which has learnt nothing of these labels, be there many classes or two."""
    return max(HALF * there.score, there.chance + QUARTER * (there.score - there.chance))


def _classified(call: Criterion) -> bool:
    """Scores and labels in host memory, one label for each row."""
    plain = call.input.dim() == 2 and call.input.is_cpu and watchable(call.input)
    return plain and call.name in ("cross_entropy", "nll_loss") and call.target.shape == call.input.shape[:1]


def _usable(data: torch.Tensor, labels: torch.Tensor) -> bool:
    """Rows of numbers or tokens in host memory with one label each, or rows of numbers with several."""
    tokens = data.dtype in (torch.int64, torch.int32) and data.dim() == 2 and data.shape[1] >= WORDS
    return (
        data.dim() >= 2 and (tokens or data.is_floating_point()) and data.is_cpu and labels.is_cpu and watchable(data) and watchable(labels)
        and not data.requires_grad and data.nbytes <= BYTES and labels.dim() in (1, 2)
        and (labels.numel() == len(data) or (not tokens and _several(data, labels)))
    )  # fmt: skip


def _several(data: torch.Tensor, labels: torch.Tensor) -> bool:
    """Several labels or numbers about the whole of a sample: not the sample itself, nor an answer for each of its points or moments."""
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
