"""What each sample of a batch costs, and which of them to show: the ones that cost most and a few picked at random."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from typing import Any

import torch

MAX_WORST = 4  # samples that are shown,
MAX_OTHERS = 4  # and picked at random among the others
MAX_NUMBERS = 4  # of a label or a prediction
CLASSES = ("cross_entropy", "nll_loss")
YES_OR_NO = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
NUMBERS = ("mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss")
KNOWN = frozenset({*CLASSES, *YES_OR_NO, *NUMBERS})
LEAST_LOG = -100.0  # torch's own limit of the logarithm in binary_cross_entropy

Numbers = tuple[float | None, ...]


class Costs:
    """Of the samples of a batch: loss (without weights of classes), label, prediction, and what the label was given.
    A sample without a loss of its own, because its label is left out, is not among `rows`."""

    def __init__(self, name: str, scores: torch.Tensor, target: torch.Tensor, options: Mapping[str, Any]) -> None:
        """`scores` and `target` in host memory."""
        self.kind = "class" if name in CLASSES else "yes or no" if name in YES_OR_NO else "number"
        self._scores, self._target = scores.double(), target
        self._given = torch.Tensor()  # probabilities
        left_out = torch.zeros(len(scores), dtype=torch.bool)
        if name in CLASSES:
            losses, left_out = self._of_classes(name, int(options.get("ignore_index", -100)))
        elif name in YES_OR_NO:
            self._given = self._scores.sigmoid() if name.endswith("logits") else self._scores
            losses = _of_answers(self._given, target.double())
        else:
            losses = _of_numbers(name, self._scores - target.double(), options)
        means = losses.flatten(1).mean(1) if losses.dim() > 1 else losses
        self.losses: list[float] = means.tolist()
        self.rows = [row for row in range(len(scores)) if not bool(left_out[row])]

    def _of_classes(self, name: str, ignored: int) -> tuple[torch.Tensor, torch.Tensor]:
        logs = self._scores.log_softmax(1) if name == "cross_entropy" else self._scores
        self._given = logs.exp()
        if self._target.is_floating_point():
            return -(logs * self._target.double()).sum(1), torch.zeros(len(logs), dtype=torch.bool)
        out = self._target == ignored
        picked = logs.gather(1, self._target.long().masked_fill(out, 0).unsqueeze(1)).squeeze(1)
        counted = (~out).double()
        losses = -picked.masked_fill(out, 0.0)
        if losses.dim() == 1:
            return losses, out
        return losses.flatten(1).sum(1) / counted.flatten(1).sum(1).clamp(min=1), out.flatten(1).all(1)

    def worst_first(self) -> list[int]:
        """What is not finite costs most."""
        return sorted(self.rows, key=lambda row: (math.isfinite(self.losses[row]), -self.losses[row]))

    def label(self, row: int) -> Numbers:
        if self.kind == "class" and self._target.is_floating_point():
            return _plain(self._target[row].argmax(0)) if self._target.dim() == 2 else ()
        return _plain(self._target[row])

    def prediction(self, row: int) -> Numbers:
        if self.kind == "class":
            return _plain(self._scores[row].argmax(0))
        return _plain(self._given[row] if self.kind == "yes or no" else self._scores[row])

    def probability(self, row: int) -> float | None:
        """That the label was given."""
        label = self.label(row)
        if self.kind != "class" or len(label) != 1 or label[0] is None or self._given.dim() != 2:
            return None
        return finite(float(self._given[row, int(label[0])]))


def chosen(costs: Costs, seed: int) -> list[tuple[int, bool]]:
    """Rows of the batch, and whether each is one of the worst. torch's random numbers are not touched."""
    ordered = costs.worst_first()
    worst, rest = ordered[:MAX_WORST], sorted(ordered[MAX_WORST:])
    others = sorted(random.Random(seed).sample(rest, min(MAX_OTHERS, len(rest))))
    return [*((row, True) for row in worst), *((row, False) for row in others)]


def finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _plain(values: torch.Tensor) -> Numbers:
    """As numbers, where they are few."""
    if values.numel() > MAX_NUMBERS:
        return ()
    return tuple(finite(float(value)) for value in values.flatten().tolist())


def _of_answers(given: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    yes, no = given.log().clamp(min=LEAST_LOG), (1 - given).log().clamp(min=LEAST_LOG)
    return -(target * yes + (1 - target) * no)


def _of_numbers(name: str, error: torch.Tensor, options: Mapping[str, Any]) -> torch.Tensor:
    if name == "mse_loss":
        return error.square()
    if name == "l1_loss":
        return error.abs()
    beta = float(options.get("beta" if name == "smooth_l1_loss" else "delta", 1.0))
    near = 0.5 * error.square()
    far = beta * (error.abs() - 0.5 * beta)
    huber = torch.where(error.abs() <= beta, near, far)
    return huber if name == "huber_loss" or not beta else huber / beta
