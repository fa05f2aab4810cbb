"""Chance level: what a predictor that ignores its input scores."""

from __future__ import annotations

import math
from dataclasses import dataclass

from traindx.signals import Signals
from traindx.signals.choose import SUM
from traindx.signals.curve import Curve

GUESSABLE = (*range(2, 11), 20, 100, 1000)  # class counts worth guessing from the loss alone
FRESH = 1.35  # a fresh classifier starts at chance; a loss that came from far above only happens to rest there
EVEN = 0.98  # of ln K: labels that occur about equally often
COUNTED_CLOSE = 0.04  # where the labels were counted on some batches
CLOSE = 0.02  # share of ln K within which a known chance level counts as met
LEARNT_NOISE = 4.0  # times its own scatter and
LEARNT_SHARE = 0.05  # of its best: how far a score rises that did learn
SEVERAL_LABELS = "multilabel_entropy"  # the mean over the labels of a sample, from a recording
VARIANCE = "mse_target_variance"  # from a recording,
BY_VARIANCE = "mse_by_variance"  # and so is this: the squared error by that variance in the second half of the run
ONE_ANSWER = 0.97
GUESS_CLOSE = 0.004  # the same where K itself is guessed


@dataclass(frozen=True)
class Chance:
    """ln K for K classes, and how K is known: 'given', 'config', 'accuracy' or 'loss' (guessed). Where a recording
    counted the labels, chance is what guessing by their frequency costs: their entropy."""

    classes: int
    known: str
    entropy: float | None = None

    @property
    def loss(self) -> float:
        return math.log(self.classes) if self.entropy is None else self.entropy

    @property
    def close(self) -> float:
        """The share of the level within which it counts as met."""
        return GUESS_CLOSE if self.known == "loss" else CLOSE if self.entropy is None else COUNTED_CLOSE

    def __str__(self) -> str:
        if self.entropy is None:
            return f"ln({self.classes}) = {self.loss:.4g}"
        return f"{self.loss:.4g} (guessing by how often each label occurs)"


def variance_of_targets(signals: Signals) -> float | None:
    """What one answer for everything costs in a regression by squares, where a recording looked at the targets."""
    value = signals.run.config.get(VARIANCE)
    return float(value) if isinstance(value, (int, float)) and value > 0 else None


def no_better_than_one_answer(signals: Signals) -> bool:
    """A regression by squares that ends where one answer for everything would be, however far the loss has come
    down."""
    ratio = signals.run.config.get(BY_VARIANCE)
    return isinstance(ratio, float) and ratio > ONE_ANSWER


def chance_of(signals: Signals, curve: Curve) -> Chance | None:
    """The chance level that fits this loss: from the known class count, from an accuracy that sits at 1/K, or where
    the loss rests on ln K of a usual K. Where a sample has several labels, only how often each is given tells it."""
    several = signals.run.config.get(SEVERAL_LABELS)
    if isinstance(several, float) and several > 0 and not curve.name.startswith(SUM):
        return Chance(2, "config", several)
    if signals.classes is not None:
        counted = signals.run.config.get("label_entropy")
        uneven = isinstance(counted, float) and 0 < counted < EVEN * math.log(signals.classes[0])
        return Chance(*signals.classes, counted if uneven else None)
    level = curve.now
    score = signals.score
    for classes in GUESSABLE:
        goal = math.log(classes)
        if score is not None and len(score) and abs(level - goal) < CLOSE * goal:
            value = score.logged(score.now)
            for unit in (1.0, 100.0):
                if abs(value - unit / classes) < 0.12 * unit / classes:
                    return Chance(classes, "accuracy")
        if abs(level - goal) < GUESS_CLOSE * goal and curve.initial < FRESH * goal and not _learnt(score):
            return Chance(classes, "loss")
    return None


def _learnt(score: Curve | None) -> bool:
    """A score that clearly rose is no guess's: the loss only happens to pass a chance level."""
    if score is None or len(score) < 5:
        return False
    return score.progress > max(LEARNT_NOISE * score.level_noise, LEARNT_SHARE * abs(score.best))
