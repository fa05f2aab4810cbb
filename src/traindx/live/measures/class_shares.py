"""Measures the labels of a training beside those of its evaluations, as they come in."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion
from traindx.live.measures.rows import SAMPLE, watchable
from traindx.live.measures.shares import is_even, rare_in
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import RareClasses

MAX_BATCHES = 256  # of training labels that are kept
MIN_BATCHES = 3  # after which labels that are even need not be counted any more
EVALUATIONS = 5  # of which it is kept how well rare classes are recognised
WEIGHTED = ("weight", "pos_weight")
CODES = (torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8)


@dataclass(slots=True)
class Evaluation:
    """The losses between two updates: labels and right answers by class, and whether they are of training data."""

    asked: int = 0  # batches that there were
    batches: list[tuple[torch.Tensor, bool]] = field(default_factory=list)
    whole: bool = True  # all samples of those batches were counted

    @property
    def complete(self) -> bool:
        return self.whole and self.asked == len(self.batches)


class ClassShares:
    """Counts only labels that there is one of for each sample, and that all count alike."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._fed: set[int] = set()  # rows that a model was given since the last `backward`
        self._tokens: set[int] = set()  # how many kinds of tokens there are
        self._losses = 0  # since the last `backward`
        self._single = False  # one label for each sample was seen
        self._left_alone = False
        self._batches: deque[torch.Tensor] = deque(maxlen=MAX_BATCHES)
        self._worse: tuple[float, ...] = ()
        self._even = False  # more labels would show nothing new
        self.evaluation = Evaluation()
        self.handed = Evaluation()  # the same of what loaders hand out, where no loss is asked for
        self._handed_at = 0
        self._labels: torch.Tensor | None = None  # of the batch that was handed out last

    @property
    def done(self) -> bool:
        """Nothing is to be seen here any more."""
        return self._left_alone or self._even

    # --- training -----------------------------------------------------------------------------------------------------

    def feed(self, model: torch.nn.Module, data: torch.Tensor) -> None:
        """A model is given training data."""
        if self.done or self._single:
            return
        self._fed.add(len(data))
        if not data.is_floating_point():
            parts = (part for part in model.modules() if isinstance(part, torch.nn.Embedding))
            self._tokens.update(part.num_embeddings for part in parts)

    def train(self, call: Criterion, classes: int) -> None:
        """A loss of training labels."""
        if self.done:
            return
        options = call.options
        unequal = any(options.get(name) is not None for name in WEIGHTED) or options.get("reduction") == "none"
        padded = options.get("ignore_index", -100) >= 0
        self._losses += self._hub.deep  # between deep steps not all are heard of
        several = self._losses > 1
        sequences = bool(self._fed) and call.target.numel() not in self._fed
        self._single = self._single or (bool(self._fed) and not sequences)
        self._left_alone = unequal or padded or several or sequences or classes in self._tokens

    def end_batch(self) -> None:
        self._losses = 0
        self._fed.clear()

    def count(self, confusion: torch.Tensor, labels: int) -> None:
        """Training labels and predictions, counted."""
        counts = confusion.sum(1)
        if self._batches and len(self._batches[0]) != len(counts):
            self._batches.clear()
        self._left_alone = self._left_alone or int(counts.sum()) != labels  # some are left out of the loss
        self._batches.append(counts)

    # --- evaluation ---------------------------------------------------------------------------------------------------

    def hold(self, evaluation: Evaluation, of_training: bool, confusion: torch.Tensor) -> None:
        """The same of a batch of an evaluation."""
        evaluation.batches.append((torch.stack([confusion.sum(1), confusion.diagonal()]), of_training))

    def hand_out(self, batch: Any) -> None:
        """A loader that is not trained on has given out a batch."""
        if self._handed_at != self._hub.step:
            self._handed_at, self.handed = self._hub.step, Evaluation()
        codes = [one for one in tensors_in(batch) if one.dim() == 1 and one.dtype in CODES]
        plain = not self.done and bool(self._batches) and len(codes) == 1 and codes[0].is_cpu and watchable(codes[0])
        self._labels = codes[0] if plain else None
        self.handed.asked += plain

    def answered(self, output: Any, later: AsyncCopy) -> None:
        """What a model makes of that batch."""
        labels, self._labels = self._labels, None
        if labels is None:
            return
        shape = (len(labels), len(self._batches[-1]))
        scores = next((one.detach() for one in tensors_in(output) if tuple(one.shape) == shape), None)
        if scores is not None and watchable(scores) and scores.numel() <= SAMPLE:
            later.to_host(scores, partial(self._hold_handed, self.handed, labels))

    def _hold_handed(self, evaluation: Evaluation, labels: torch.Tensor, scores: torch.Tensor) -> None:
        classes = scores.shape[1]
        labels = labels.long()
        if int(labels.min()) >= 0 and int(labels.max()) < classes:
            right = labels[scores.argmax(1) == labels]
            counts = [codes.bincount(minlength=classes).double() for codes in (labels, right)]
            evaluation.batches.append((torch.stack(counts), False))

    def compare(self) -> RareClasses | None:
        """An evaluation is over: its labels beside those of training."""
        evaluation = self.evaluation if self.evaluation.asked else self.handed
        self.evaluation, self.handed = Evaluation(), Evaluation()
        if self.done or not self._batches or not evaluation.batches:
            return None
        if not self._single:
            self._left_alone = True
            return None
        parted = len({of_training for _, of_training in evaluation.batches}) > 1
        held = [counts for counts, of_training in evaluation.batches if not (parted and of_training)]
        if len({counts.shape for counts in held} | {(2, len(self._batches[0]))}) > 1:
            return None
        batches, rows = torch.stack(list(self._batches)), torch.stack(held)
        if not batches.sum() or not rows.sum():
            return None
        self._even = len(batches) >= MIN_BATCHES and is_even(batches.sum(0), rows[:, 0].sum(0))
        found = rare_in(batches, rows, evaluation.complete, self._worse)
        self._worse = found.worse[-EVALUATIONS:]
        return found
