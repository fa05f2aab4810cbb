"""Do near samples have near labels? A question to the data alone, no model involved."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

NEAR = 5  # neighbours asked
FEATURES = 256  # of a sample, spread over it
LEAST_PER_CLASS = 5
CONSTANT = 1e-4  # of the largest deviation: such a feature holds rounding errors


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well neighbours tell labels: the accuracy, or for numbers the correlation, beside what chance would give."""

    score: float
    chance: float
    scatter: float  # one standard deviation of the score of labels dealt out at random

    def sure(self, score: float | None = None) -> float:
        """By how many standard deviations this, or another score, is better than chance."""
        return ((self.score if score is None else score) - self.chance) / self.scatter


def features_of(data: torch.Tensor) -> torch.Tensor:
    """Samples as rows of at most FEATURES numbers."""
    rows = data.detach().flatten(1)
    return rows[:, :: math.ceil(rows.shape[1] / FEATURES)].float().clone()


def agreement(rows: torch.Tensor, labels: torch.Tensor) -> Agreement:
    """How well the neighbours of a sample tell its label, without the sample itself."""
    spread = rows.std(0)
    rows = ((rows - rows.mean(0)) / spread)[:, spread > CONSTANT * spread.max()]
    distances = torch.cdist(rows, rows, compute_mode="use_mm_for_euclid_dist")
    distances.fill_diagonal_(math.inf)
    near = distances.topk(NEAR, largest=False).indices
    count = len(labels)
    if labels.is_floating_point():
        together = torch.stack([labels[near].mean(1).double(), labels.double()])
        varied = bool((together.std(1) > 0).all())
        return Agreement(float(torch.corrcoef(together)[0, 1]) if varied else 0.0, 0.0, 1 / math.sqrt(count - 1))
    classes, labels = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    votes = torch.nn.functional.one_hot(labels[near], len(classes)).sum(1)
    right = float((votes.argmax(1) == labels).double().mean())
    chance = float(labels.bincount().max()) / count  # the most frequent class alone
    return Agreement(right, chance, math.sqrt(max(chance * (1 - chance), 1e-12) / count))


def distinct(rows: torch.Tensor) -> torch.Tensor:
    """The places of the samples that have not occurred before."""
    weights = torch.arange(1, rows.shape[1] + 1, dtype=torch.float64).sqrt()
    first: dict[float, int] = {}
    for place, key in enumerate((rows.double() * weights).sum(1).tolist()):
        first.setdefault(key, place)
    return torch.tensor(list(first.values()))


def enough(labels: torch.Tensor, least: int) -> bool:
    """Whether that many samples can tell anything."""
    if len(labels) < least:
        return False
    classes = len(labels.unique())  # type: ignore[no-untyped-call]
    return labels.is_floating_point() or len(labels) >= LEAST_PER_CLASS * classes > LEAST_PER_CLASS
