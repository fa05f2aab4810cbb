"""Measures inputs, labels and predictions of training beside those of evaluation."""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps_and_evaluation, on_every_step
from traindx.live.events.numbered import numbered
from traindx.live.measures.class_shares import WEIGHTED, ClassShares, Evaluation
from traindx.live.measures.rows import head_sample, thinned, watchable
from traindx.live.measures.shares import LABELS_A_CLASS
from traindx.live.measures.tensors import first_input, wants_gradients
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import FrequentClass, InputScales, TakenFor

MAX_BATCHES = 12  # of each side whose scale is measured
MAX_MODELS = 8
MAX_CLASSES = 200
MAX_LABELS = 20  # that are written down, of all classes
MIN_LABELS = 40  # from which on it makes sense to calculate with their entropy
MAX_LOOKS = 100  # at the labels of one evaluation
EVERY = 20  # updates between two looks at training labels at least, beside deep steps
GROWTH = 0.1  # of the updates so far
KEEP = 0.8  # of what older training batches count, at each new one
EVALUATIONS = 5  # of which it is kept how the less frequent classes are taken
# Where classes are even and so many samples of an evaluation are recognised, more evaluations would show nothing new.
EVEN_SHARE, RECOGNISED = 0.5, 0.6
CLASSIFIERS = {"cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"}


@dataclass(slots=True)
class _Side:
    """Mean and standard deviation of some batches of a model's inputs, in training or in evaluation."""

    width: int = 0
    means: list[float] = field(default_factory=list)
    deviations: list[float] = field(default_factory=list)
    asked: int = 0


@dataclass(slots=True)
class _Scales:
    """Those of one model."""

    name: str
    train: _Side = field(default_factory=_Side)
    held: _Side = field(default_factory=_Side)


@dataclass(slots=True)
class _Confusion:
    """Counts of (label, prediction) of one evaluation, or of the last training batches."""

    classes: int = 0
    counts: dict[tuple[int, int], float] = field(default_factory=dict)

    def add(self, classes: int, flat: list[float], keep: float) -> None:
        if classes != self.classes:
            self.classes, self.counts = classes, {}
        self.counts = {key: value * keep for key, value in self.counts.items()}
        for index, count in enumerate(flat):
            if count:
                key = divmod(index, classes)
                self.counts[key] = self.counts.get(key, 0.0) + count

    def total(self) -> float:
        return sum(self.counts.values())

    def accuracy(self) -> float:
        return sum(count for (label, guess), count in self.counts.items() if label == guess) / max(self.total(), 1e-9)

    def shares(self) -> list[float]:
        """The share of each label."""
        counts = [0.0] * self.classes
        for (label, _), count in self.counts.items():
            counts[label] += count
        return [count / max(self.total(), 1e-9) for count in counts]

    def taken_for(self, labels: range) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...]]:
        """For each label the class that its samples are mostly taken for, the share of those, and how many there
        are."""
        guesses: dict[int, dict[int, float]] = {label: {} for label in labels}
        for (label, guess), count in self.counts.items():
            if label in guesses:
                guesses[label][guess] = count
        counts = [sum(found.values()) for found in guesses.values()]
        tops = [max(found, key=lambda guess: found[guess], default=-1) for found in guesses.values()]
        most = [max(found.values(), default=0.0) for found in guesses.values()]
        shares = tuple(round(one / count, 3) if count else 0.0 for one, count in zip(most, counts, strict=True))
        return tuple(tops), shares, tuple(round(count, 1) for count in counts)


class Comparison(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._names: Counter[str] = Counter()  # models met so far, by class
        self._scales: dict[int, _Scales] = {}
        self._train_labels = _Confusion()
        self._balance = _Confusion()  # the same of all looks
        self._plain = True  # each label counts as often as it occurs
        self._held_labels = _Confusion()
        self._shares = ClassShares(hub)
        self._looks = 0  # at the labels of this evaluation
        self._next_look = 0  # at the training labels
        self._least_share = 1.0  # of the most frequent training class at any evaluation
        self._taken: deque[float] = deque(maxlen=EVALUATIONS)  # shares of the samples of other classes
        self._unrecognised: deque[float] = deque(maxlen=EVALUATIONS)
        self._recognised = False  # most labels of an evaluation

    # --- inputs -------------------------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if data is not None and self.hub.grad and wants_gradients(output):
            self._shares.feed(model, data)
        elif not self.hub.grad:
            self._shares.answered(output, self._copies)
        if data is None or not data.is_floating_point() or data.requires_grad or not watchable(data) or data.dim() < 2:
            return
        scales = self._scales_of(model, wants_gradients(output))
        side = None if scales is None else scales.train if self.hub.grad else scales.held
        if scales is not None and side is not None and side.asked < MAX_BATCHES:
            side.asked += 1
            side.width = data.shape[-1]
            self._copies.to_host(thinned(data), partial(self._scaled, scales, side))

    on_sampled_call = on_forward

    def _scales_of(self, model: torch.nn.Module, learns: bool) -> _Scales | None:
        """Those that a call belongs to; None for one that is neither training nor evaluation of a model that is
        trained."""
        known = self._scales.get(id(model))
        if not self.hub.grad:
            return known if self.hub.step else None
        if learns and known is None and len(self._scales) < MAX_MODELS:
            known = self._scales[id(model)] = _Scales(numbered(model, self._names))
        return known if learns else None

    def _scaled(self, scales: _Scales, side: _Side, rows: torch.Tensor) -> None:
        values = rows.float()
        mean, deviation = float(values.mean()), float(values.std(correction=0))
        if math.isfinite(mean) and math.isfinite(deviation):
            side.means.append(mean)
            side.deviations.append(deviation)
        train, held = scales.train, scales.held
        if side is held:
            self.hub.measure(
                InputScales(
                    train_means=tuple(train.means),
                    train_deviations=tuple(train.deviations),
                    held_means=tuple(held.means),
                    held_deviations=tuple(held.deviations),
                    train_width=train.width,
                    held_width=held.width,
                    where=scales.name,
                )
            )

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self.hub.step and not self.hub.evaluates_training_loader:
            self._shares.hand_out(batch)

    # --- labels -------------------------------------------------------------------------------------------------------

    @on_every_step
    def on_criterion(self, call: Criterion) -> None:
        training = self.hub.grad and call.output.requires_grad
        over = self._recognised and self._least_share <= EVEN_SHARE and self._shares.done
        if over or (training and not self.hub.deep and self.hub.step < self._next_look):
            return
        if call.name not in CLASSIFIERS or not watchable(call.input) or not watchable(call.target):
            return
        if training:
            self._next_look = self.hub.step + max(EVERY, int(GROWTH * self.hub.step))
            self.hub.skip_losses(self, self._next_look)
        elif self.hub.grad or not self.hub.step:
            return
        self._looks = self._looks + 1 if not training else 0
        classes = _classes(call)
        if not classes:
            return
        if training:
            self._shares.train(call, classes)
        else:
            self._shares.evaluation.asked += 1
        if self._looks > MAX_LOOKS:
            return
        self._plain = self._plain and not any(call.options.get(name) is not None for name in WEIGHTED)
        # padding is a label that does not count
        self._plain = self._plain and call.options.get("ignore_index", -100) < 0
        scores = head_sample(call.input)
        if training:
            then = partial(self._count_training, call.name, classes)
        else:
            evaluation = self._shares.evaluation
            of_training = not self._shares.done and self.hub.criteria.splits.of_training(call)
            evaluation.whole = evaluation.whole and len(scores) == len(call.input)
            then = partial(self._count_held, self._held_labels, evaluation, of_training, call.name, classes)
        self._copies.bring_all((scores, call.target.detach()[: len(scores)]), then)

    def _count_training(self, name: str, classes: int, scores: torch.Tensor, labels: torch.Tensor) -> None:
        confusion = _confusion(name, classes, scores, labels)
        flat = confusion.flatten().tolist()
        self._train_labels.add(classes, flat, keep=KEEP)
        self._balance.add(classes, flat, keep=1.0)
        self._shares.count(confusion, labels.numel())

    def _count_held(
        self, side: _Confusion, evaluation: Evaluation, of_training: bool, name: str, classes: int,
        scores: torch.Tensor, labels: torch.Tensor,
    ) -> None:  # fmt: skip
        confusion = _confusion(name, classes, scores, labels)
        side.add(classes, confusion.flatten().tolist(), keep=1.0)
        self._shares.hold(evaluation, of_training, confusion)

    @on_deep_steps_and_evaluation
    def on_backward(self, loss: torch.Tensor) -> None:
        self._copies.poll()
        if self._held_labels.counts or self._shares.handed.batches:
            self._measure_labels()
            self._held_labels = _Confusion()
        self._looks = 0
        self._shares.end_batch()

    def on_models_freed(self) -> None:
        self._copies.poll(wait=True)
        self._scales.clear()

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self._measure_labels()
        if self._plain and self._balance.total() >= max(MIN_LABELS, LABELS_A_CLASS * self._balance.classes):
            shares = [share for share in self._balance.shares() if share > 0]
            if len(shares) > 1:
                self.hub.config(label_entropy=-sum(share * math.log(share) for share in shares))

    def _measure_labels(self) -> None:
        """An evaluation is over: its labels and predictions beside those of training."""
        rare = self._shares.compare()
        if rare is not None:
            self.hub.measure(rare)
        train, held = self._train_labels, self._held_labels
        if train.counts and held.counts and train.classes == held.classes:
            self._measure_balance()
            self._measure_names()

    def _measure_names(self) -> None:
        """Which label is taken for which class."""
        train, held = self._train_labels, self._held_labels
        labels = range(0, train.classes, -(-train.classes // MAX_LABELS))
        train_as, train_shares, train_counts = train.taken_for(labels)
        held_as, held_shares, held_counts = held.taken_for(labels)
        found = TakenFor(
            classes=train.classes,
            labels=tuple(labels),
            train_as=train_as,
            train_shares=train_shares,
            train_counts=train_counts,
            held_as=held_as,
            held_shares=held_shares,
            held_counts=held_counts,
            train_accuracy=train.accuracy(),
            held_accuracy=held.accuracy(),
            held_samples=int(held.total()),
        )
        right = min(found.train_accuracy, found.held_accuracy) >= RECOGNISED
        self._recognised = self._recognised or (right and found.held_samples >= MIN_LABELS)
        self.hub.measure(found)

    def _measure_balance(self) -> None:
        """The class that most training labels have, and what the model takes the others for."""
        train, held = self._train_labels, self._held_labels
        here = train.shares()
        top = here.index(max(here))
        others = {key: count for key, count in held.counts.items() if key[0] != top}
        total = sum(others.values())
        if total:
            self._taken.append(sum(count for (_, guess), count in others.items() if guess == top) / total)
            wrong = sum(count for (label, guess), count in others.items() if guess != label)
            self._unrecognised.append(wrong / total)
        if train.total() >= MIN_LABELS <= held.total():
            self._least_share = min(self._least_share, here[top])
        self.hub.measure(
            FrequentClass(
                top=top,
                top_share=here[top],
                least_share=self._least_share,
                median_share=_median([share for label, share in enumerate(here) if label != top]),
                labels=train.total(),
                held_share=held.shares()[top],
                held_labels=int(held.total()),
                others=int(total),
                taken=tuple(self._taken),
                unrecognised=tuple(self._unrecognised),
            )
        )


def _median(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def _classes(call: Criterion) -> int:
    """How many classes a sample is told from; 0 where there are none, or too many."""
    scores, labels = call.input, call.target
    if call.name in ("cross_entropy", "nll_loss"):
        plain = scores.dim() == 2 and labels.dim() == 1 and not labels.is_floating_point()
        return scores.shape[1] if plain and 1 < scores.shape[1] <= MAX_CLASSES else 0
    return 2 if scores.dim() and scores.shape == labels.shape and scores.numel() == scores.shape[0] else 0


def _confusion(name: str, classes: int, scores: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    """Counts by label and prediction."""
    if name in ("cross_entropy", "nll_loss"):
        guesses = scores.argmax(1)
    else:
        guesses = (scores.reshape(-1) > (0.5 if name == "binary_cross_entropy" else 0.0)).long()
        labels = (labels.reshape(-1) > 0.5).long()
    known = (labels >= 0) & (labels < classes)
    pairs = torch.where(known, labels.long() * classes + guesses, classes * classes)
    return pairs.bincount(minlength=classes * classes + 1)[:-1].double().reshape(classes, classes)


OBSERVER = Comparison
