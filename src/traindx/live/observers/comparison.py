"""Do training and validation speak of the same things: inputs of one scale, labels of one meaning?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import torch

from traindx.live.class_shares import WEIGHTED, ClassShares, Evaluation
from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.observer import Criterion, Observer, on_deep_steps_and_evaluation, on_every_step
from traindx.live.rows import few, thinned, watchable
from traindx.live.shares import LABELS_A_CLASS
from traindx.live.tensors import first_input, wants_gradients

SAMPLES = 12  # batches of each side that are summed up
LEAST_BATCHES = 2
OTHER_SCALE = 3.0  # ratio of standard deviations, or distance of means in training deviations
SEEN_SCALE = 2.0  # the same beside many training batches, where it is
BEYOND = 1.5  # times farther than any of them
PLAIN_SCALE = 10.0
MOST_CLASSES = 200
LEAST_LABELS = 40
LOOKS = 100  # at the labels of one evaluation
EVERY = 20  # updates between two looks at training labels at least, beside deep steps
GROWTH = 0.1  # of the updates so far
IMBALANCE = 10.0  # share of the most frequent training class over the middle share
DOMINANT = 0.8  # of the training labels: the others are too few to be told from each other as well
RARE_SAMPLES = 10  # of other classes than the most frequent one in validation
MISSED = 0.5  # of them,
MISSED_TIMES = 3  # evaluations in a row
MISSED_ID = "rare-classes-missed"
CLEARER = 0.05  # change of the clarity that is worth another word
OWN_CLASS = 0.6  # of a class's samples go to one predicted class: the model knows the class, whatever it is called
CLASSIFIERS = {"cross_entropy", "nll_loss", "binary_cross_entropy", "binary_cross_entropy_with_logits"}


@dataclass(slots=True)
class _Scale:
    """Mean and standard deviation of some batches of one model's inputs."""

    rows: tuple[int, ...] = ()
    batches: list[tuple[float, float]] = field(default_factory=list)
    asked: int = 0


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

    def mapping(self) -> dict[int, int]:
        """For each label with enough samples the class it is mostly taken for, where there is one."""
        labels: dict[int, dict[int, float]] = {}
        for (label, guess), count in self.counts.items():
            labels.setdefault(label, {})[guess] = count
        found = {}
        for label, guesses in labels.items():
            top = max(guesses, key=lambda guess: guesses[guess])
            if sum(guesses.values()) >= 4 and guesses[top] >= OWN_CLASS * sum(guesses.values()):
                found[label] = top
        return found


class Comparison(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._even = False  # no class has most of the training labels
        self._missed = 0
        self._told_missed: Finding | None = None
        self._findings = Findings(hub)
        self._train: dict[int, _Scale] = {}
        self._held: dict[int, _Scale] = {}
        self._train_labels = _Confusion()
        self._balance = _Confusion()  # the same of all looks
        self._plain = True  # each label counts as often as it occurs
        self._held_labels = _Confusion()
        self._shares = ClassShares(hub)
        self._looks = 0  # at the labels of this evaluation
        self._next_look = 0  # at the training labels
        self._judged = False

    # --- inputs -------------------------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if data is not None and self.hub.grad and wants_gradients(output):
            self._shares.feed(model, data)
        elif not self.hub.grad:
            self._shares.answered(output, self._later)
        if data is None or not data.is_floating_point() or data.requires_grad or not watchable(data) or data.dim() < 2:
            return
        if self.hub.grad and wants_gradients(output):
            side = self._train.setdefault(id(model), _Scale())
        elif self.hub.step and not self.hub.grad and id(model) in self._train:
            side = self._held.setdefault(id(model), _Scale())
        else:
            return
        if side.asked < SAMPLES and len(self._train) <= 8:
            side.asked += 1
            side.rows = tuple(data.shape[1:])
            self._later.bring(thinned(data), partial(self._scaled, id(model), side))

    on_glance = on_forward

    def _scaled(self, model: int, side: _Scale, rows: torch.Tensor) -> None:
        values = rows.float()
        mean, std = float(values.mean()), float(values.std(correction=0))
        if math.isfinite(mean) and math.isfinite(std):
            side.batches.append((mean, std))
        train, held = self._train.get(model), self._held.get(model)
        if side is not held or train is None or held is None:
            return
        if len(train.batches) < LEAST_BATCHES or len(held.batches) < LEAST_BATCHES or train.rows[-1:] != held.rows[-1:]:
            return
        mean, std = (_middle([batch[k] for batch in train.batches]) for k in (0, 1))
        usual = max(scale_distance(batch, mean, std) for batch in train.batches)
        other = [b for b in held.batches if scale_distance(b, mean, std) > max(SEEN_SCALE, BEYOND * usual)]
        if std <= 0:
            return
        if len(other) >= max(LEAST_BATCHES, 0.5 * len(held.batches)):
            there = tuple(_middle([batch[k] for batch in other]) for k in (0, 1))
            size = scale_distance((there[0], there[1]), mean, std)
            sure = math.log(size / SEEN_SCALE) / math.log(PLAIN_SCALE / SEEN_SCALE)
            least = 0.7 if len(other) == len(held.batches) else 0.5
            clearness = min(1.0, least + (1 - least) * sure)
            self._findings.add(Finding(
                "val-inputs-differ", True,
                f"Inputs in evaluation have mean {there[0]:.3g} and standard deviation {there[1]:.3g}, in training {mean:.3g} and "
                f"{std:.3g} ({len(other)} of {len(held.batches)} batches).", clearness,
            ))  # fmt: skip
        elif len(held.batches) >= LEAST_BATCHES and not other:
            self._findings.add(Finding(
                "val-inputs-differ", False, f"Inputs have one scale in training and evaluation (standard deviation {std:.3g})."
            ))  # fmt: skip

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self.hub.step and not self.hub.evaluates_training_loader:
            self._shares.hand_out(batch)

    # --- labels -------------------------------------------------------------------------------------------------------

    @on_every_step
    def on_criterion(self, call: Criterion) -> None:
        training = self.hub.grad and call.output.requires_grad
        over = self._judged and self._even and self._shares.done
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
        if self._looks > LOOKS:
            return
        self._plain = self._plain and not any(call.options.get(name) is not None for name in WEIGHTED)
        self._plain = (
            self._plain and call.options.get("ignore_index", -100) < 0
        )  # padding is a label that does not count
        scores = few(call.input)
        if training:
            then = partial(self._count_training, call.name, classes)
        else:
            evaluation = self._shares.evaluation
            of_training = not self._shares.done and self.hub.criteria.splits.of_training(call)
            evaluation.whole = evaluation.whole and len(scores) == len(call.input)
            then = partial(self._count_held, self._held_labels, evaluation, of_training, call.name, classes)
        self._later.bring_all((scores, call.target.detach()[: len(scores)]), then)

    def _count_training(self, name: str, classes: int, scores: torch.Tensor, labels: torch.Tensor) -> None:
        confusion = _confusion(name, classes, scores, labels)
        flat = confusion.flatten().tolist()
        self._train_labels.add(classes, flat, keep=0.8)
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
        self._later.poll()
        if self._held_labels.counts or self._shares.handed.batches:
            self._compare_labels()
            self._held_labels = _Confusion()
        self._looks = 0
        self._shares.end_batch()

    def on_farewell(self) -> None:
        self._later.poll(wait=True)
        self._train.clear()
        self._held.clear()

    def on_end(self) -> None:
        self._later.poll(wait=True)
        self._compare_labels()
        if self._plain and self._balance.total() >= max(LEAST_LABELS, LABELS_A_CLASS * self._balance.classes):
            shares = [share for share in self._balance.shares() if share > 0]
            if len(shares) > 1:
                self.hub.config(label_entropy=-sum(share * math.log(share) for share in shares))

    def _compare_labels(self) -> None:
        """The model knows the classes of the validation data, but by other names: a permutation, not confusion."""
        of_shares = self._shares.compare()
        padded = "padding-in-loss" in self.hub.found  # that is what is most frequent then
        self._tell_missed(of_shares, None if self._even or padded else self._compare_balance())
        train, held = self._train_labels, self._held_labels
        if self._judged or held.total() < LEAST_LABELS or held.classes != train.classes or train.accuracy() < OWN_CLASS:
            return
        mapping = held.mapping()
        moved = {label: guess for label, guess in mapping.items() if label != guess}
        distinct = len(set(mapping.values())) == len(mapping)
        known = train.mapping()  # the model must know in training what it names otherwise in validation
        moved = {label: guess for label, guess in moved.items() if known.get(label, label) == label}
        sure = sum(label in known for label in moved) >= max(2, 0.5 * len(moved))
        if sure and distinct and len(mapping) >= 0.7 * train.classes and held.accuracy() < 0.5:
            pairs = ", ".join(f"{label} for {guess}" for label, guess in sorted(moved.items())[:3])
            self._findings.add(Finding(
                "val-labels-differ", True,
                f"Validation labels are permuted: the model takes class {pairs}, each consistently, while it is right on "
                f"{train.accuracy() * 100:.0f} % of the training labels.",
            ))  # fmt: skip
            self._judged = True
        elif held.accuracy() >= OWN_CLASS:
            self._judged = True
            self._findings.add(Finding(
                "val-labels-differ", False, f"The model is right on {held.accuracy() * 100:.0f} % of the validation labels."
            ))  # fmt: skip

    def _tell_missed(self, *found: Finding | None) -> None:
        """What is missed counts before what is not, and the last word before the others: rare classes may be learnt late."""
        said = [finding for finding in found if finding is not None]
        if not said:
            return
        best, told = max(said, key=lambda finding: (finding.present, finding.clarity)), self._told_missed
        if told is None or told.present != best.present or abs(told.clarity - best.clarity) >= CLEARER:
            self._told_missed = best
            self.hub.fact(best.id, best.present, best.evidence, clarity=best.clarity)

    def _compare_balance(self) -> Finding | None:
        """The class that nearly all training labels have is what the model answers for the others in validation."""
        train, held = self._train_labels, self._held_labels
        if min(train.total(), held.total()) < LEAST_LABELS or held.classes != train.classes:
            return None
        here, there = train.shares(), held.shares()
        top = here.index(max(here))
        rare = sum(count for (label, _), count in held.counts.items() if label != top)
        wrong = "taken for it" if here[top] < DOMINANT else "not recognised"
        taken = sum(
            count for (label, guess), count in held.counts.items()
            if label != top and (guess == top if here[top] < DOMINANT else guess != label)
        )  # fmt: skip
        if here[top] <= 0.5:
            self._even = True
            return Finding(MISSED_ID, False, f"The most frequent class has {here[top]:.0%} of the training labels.")
        others = _middle([share for label, share in enumerate(here) if label != top])
        if here[top] < IMBALANCE * others or rare < RARE_SAMPLES:
            return None
        missed = taken / rare
        self._missed = self._missed + 1 if missed > MISSED else 0
        if 0 < self._missed < MISSED_TIMES:  # every training begins so
            return None
        return Finding(
            MISSED_ID, self._missed > 0,
            f"Class {top} has {here[top]:.0%} of the training labels and {there[top]:.0%} of the validation labels, and "
            f"{missed:.0%} of the {rare:.0f} validation samples of other classes are {wrong}.",
        )  # fmt: skip


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


def scale_distance(batch: tuple[float, float], mean: float, std: float) -> float:
    """How far a batch is from the usual: the ratio of the deviations, or the distance of the means in deviations."""
    least = max(std, 1e-12)
    ratio = max(batch[1], 1e-12) / least
    return max(ratio, 1 / ratio, abs(batch[0] - mean) / least)


def _classes(call: Criterion) -> int:
    """How many classes a sample is told from; 0 where there are none, or too many."""
    scores, labels = call.input, call.target
    if call.name in ("cross_entropy", "nll_loss"):
        plain = scores.dim() == 2 and labels.dim() == 1 and not labels.is_floating_point()
        return scores.shape[1] if plain and 1 < scores.shape[1] <= MOST_CLASSES else 0
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
