"""Measures whether near samples have near labels, and how far values lie off others: of the data alone, without a
model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from traindx.measurements import FeatureTail

NEAR = 5  # neighbours asked
FEATURES = 256  # of a sample, spread over it
BAG = 1024  # places for the tokens of a vocabulary,
SPREAD, PRIME = 40503, 65537  # which these spread over them, neighbours apart
LEAST_PER_CLASS = 5
FOLDS = 5
WILD = 50.0  # times the usual largest value of a sample
MAX_COLUMNS = 50  # of a table: wider rows may be images
MAX_TAILS = 3  # features whose farthest values are recorded,
MAX_DISTANCES = 11  # and how many values of each: one more than 2 % of 512
MIN_DISTINCT = 0.5  # of the values of such a feature are different ones
CONSTANT = 1e-4  # of the largest deviation: such a feature holds rounding errors


@dataclass(frozen=True, slots=True)
class Agreement:
    """How well neighbours tell labels: the accuracy, or for numbers the correlation, beside that of chance."""

    score: float
    chance: float
    scatter: float  # one standard deviation of the score of labels in random order
    best: float = -math.inf  # of several labels: standard deviations of the best, beyond the luck of as many

    def sure(self, score: float | None = None) -> float:
        """By how many standard deviations this, or another score, is better than chance."""
        if score is None:
            return max(self.sure(self.score), self.best)
        return (score - self.chance) / self.scatter


def features_of(data: torch.Tensor) -> torch.Tensor:
    """Samples as rows of at most FEATURES numbers. Of a sequence of tokens, whose numbers are names, the bag: how
    often each occurs, several sharing a place where there are many."""
    rows = data.detach().flatten(1)
    if not data.is_floating_point():
        places = rows.long() * SPREAD % PRIME % BAG
        return torch.zeros(len(rows), BAG).scatter_add_(1, places, torch.ones(rows.shape))
    return rows[:, :: math.ceil(rows.shape[1] / FEATURES)].float().clone()


def agreement(rows: torch.Tensor, labels: torch.Tensor) -> Agreement:
    """How well the neighbours of a sample tell its label, without the sample itself."""
    spread = rows.std(0)
    rows = ((rows - rows.mean(0)) / spread)[:, spread > CONSTANT * spread.max()]
    distances = torch.cdist(rows, rows, compute_mode="use_mm_for_euclid_dist")
    distances.fill_diagonal_(math.inf)
    near = distances.topk(NEAR, largest=False).indices
    count = len(labels)
    if labels.dim() == 2:
        return _by_columns(labels[near].mean(1), labels, _mutual(near))
    if labels.is_floating_point():
        together = torch.stack([labels[near].mean(1).double(), labels.double()])
        varied = bool((together.std(1) > 0).all())
        return Agreement(float(torch.corrcoef(together)[0, 1]) if varied else 0.0, 0.0, 1 / math.sqrt(count - 1))
    classes, labels = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    votes = torch.nn.functional.one_hot(labels[near], len(classes)).sum(1)
    right = float((votes.argmax(1) == labels).double().mean())
    chance = float(labels.bincount().max()) / count  # the most frequent class alone
    return Agreement(right, chance, math.sqrt(max(chance * (1 - chance), 1e-12) / count))


def on_a_line(rows: torch.Tensor, labels: torch.Tensor) -> Agreement:
    """How well a ridge regression on the features and their squares tells the label of samples it was not fitted to."""
    spread = rows.std(0)
    rows = ((rows - rows.mean(0)) / spread)[:, spread > CONSTANT * spread.max()].double()
    rows = torch.cat([rows, rows**2 - 1, torch.ones(len(rows), 1)], 1)
    count, numbers = len(labels), labels.is_floating_point()
    _, codes = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    wanted = labels.double().reshape(count, -1) if numbers else torch.nn.functional.one_hot(codes).double()
    wanted = wanted - wanted.mean(0)
    reported = torch.empty_like(wanted)
    fold = torch.arange(count) % FOLDS
    ridge = rows.shape[1] * torch.eye(rows.shape[1], dtype=torch.float64)
    for part in range(FOLDS):
        out = fold == part
        fitted, values = rows[~out], wanted[~out]
        reported[out] = rows[out] @ torch.linalg.solve(fitted.T @ fitted + ridge, fitted.T @ values)
    if labels.dim() == 2:
        return _by_columns(reported, wanted, 1.0)
    if numbers:
        together = torch.stack([reported.squeeze(1), wanted.squeeze(1)])
        varied = bool((together.std(1) > 0).all())
        return Agreement(float(torch.corrcoef(together)[0, 1]) if varied else 0.0, 0.0, 1 / math.sqrt(count - 1))
    shares = codes.bincount().double() / count
    right = float(((reported + shares).argmax(1) == codes).double().mean())
    chance = float(shares.max())
    return Agreement(right, chance, math.sqrt(max(chance * (1 - chance), 1e-12) / count))


def by_words(bags: torch.Tensor, labels: torch.Tensor) -> Agreement:
    """How well the tokens of a sequence tell its label: naive Bayes, asked about samples it was not fitted to."""
    _, codes = labels.unique(return_inverse=True)  # type: ignore[no-untyped-call]
    count, classes = len(labels), torch.nn.functional.one_hot(codes).double()
    bags, reported = bags.double(), torch.empty_like(classes)
    fold = torch.arange(count) % FOLDS
    for part in range(FOLDS):
        out = fold == part
        words = classes[~out].T @ bags[~out] + 1.0
        reported[out] = bags[out] @ (words / words.sum(1, keepdim=True)).log().T + (classes[~out].sum(0) + 1.0).log()
    chance = float(classes.mean(0).max())
    right = float((reported.argmax(1) == codes).double().mean())
    return Agreement(right, chance, math.sqrt(max(chance * (1 - chance), 1e-12) / count))


def correlations(reported: torch.Tensor, wanted: torch.Tensor) -> torch.Tensor:
    """Of each column with its own; 0 where one of the two is constant."""
    reported, wanted = (one.double() - one.double().mean(0) for one in (reported, wanted))
    sizes = reported.norm(dim=0) * wanted.norm(dim=0)
    return (reported * wanted).sum(0) / torch.where(sizes > 0, sizes, 1.0)


def _by_columns(reported: torch.Tensor, wanted: torch.Tensor, mutual: float) -> Agreement:
    """The mean correlation over several labels of a sample. What is reported is a sum over the labels of other samples;
    where those are reported by this one in turn, every pair counts twice. For labels in random order the correlations
    of two columns then go together by the square of how the columns do."""
    count, several = wanted.shape
    found = correlations(reported, wanted)
    each = math.sqrt((1 + mutual) / (count - 1))
    alike = torch.corrcoef(wanted.double().T).reshape(several, several)
    luck = math.sqrt(2 * math.log(several))  # the best of so many
    return Agreement(
        float(found.mean()), 0.0, each * math.sqrt(float((alike**2).mean())), float(found.max()) / each - luck
    )


def _mutual(near: torch.Tensor) -> float:
    """The share of neighbours that are neighbours the other way round too."""
    linked = torch.zeros(len(near), len(near), dtype=torch.bool).scatter_(1, near, True)
    return float((linked & linked.T).sum()) / near.numel()


def keys_of(rows: torch.Tensor) -> list[float]:
    """A number for each sample that tells it from others."""
    weights = torch.arange(1, rows.shape[1] + 1, dtype=torch.float64).sqrt()
    keys: list[float] = (rows.double() * weights).sum(1).tolist()
    return keys


def distinct(rows: torch.Tensor) -> torch.Tensor:
    """The places of the samples that have not occurred before."""
    first: dict[float, int] = {}
    for place, key in enumerate(keys_of(rows)):
        first.setdefault(key, place)
    return torch.tensor(list(first.values()), dtype=torch.long)


def unspoilt(rows: torch.Tensor) -> torch.Tensor:
    """Which samples are numbers in the range of the others: one wild value would be the scale of its feature. Where
    most are zero, as labels of 0 and 1 may be, there is no such range."""
    reach = rows.abs().amax(1).double()
    usual = reach.nanmedian()
    return torch.isfinite(reach) & ((reach <= WILD * usual) | (usual == 0))


def tails(rows: torch.Tensor) -> list[FeatureTail]:
    """The features of a table whose farthest values are farthest off the others. A code or a count is no such number:
    most of the values must differ."""
    rows = rows[torch.isfinite(rows).all(1)].double()
    if not len(rows) or rows.shape[1] > MAX_COLUMNS:
        return []
    median = rows.median(0).values
    apart = (rows - median).abs()
    spread = apart.median(0).values
    far = torch.where(spread > 0, apart.amax(0) / spread, 0.0)
    found: list[FeatureTail] = []
    for feature in far.argsort(descending=True)[: int((spread > 0).sum())].tolist():
        column, distances = rows[:, feature], apart[:, feature] / spread[feature]
        if len(found) < MAX_TAILS and len(set(column.tolist())) >= MIN_DISTINCT * len(column):
            found.append(
                FeatureTail(
                    feature=feature,
                    rows=len(rows),
                    median=float(median[feature]),
                    spread=float(spread[feature]),
                    farthest=float(column[distances.argmax()]),
                    distances=tuple(distances.sort(descending=True).values[:MAX_DISTANCES].tolist()),
                )
            )
    return found


def enough(labels: torch.Tensor, least: int) -> bool:
    """Whether that many samples can tell anything."""
    if len(labels) < least:
        return False
    classes = len(labels.unique())  # type: ignore[no-untyped-call]
    return labels.is_floating_point() or len(labels) >= LEAST_PER_CLASS * classes > LEAST_PER_CLASS


def varied(labels: torch.Tensor) -> torch.Tensor:
    """Which of several labels have enough samples that differ from the most."""
    return (labels != labels.median(0).values).sum(0) >= LEAST_PER_CLASS


def most_frequent(labels: torch.Tensor) -> float:
    """The share of the most frequent label; of several labels the middle share."""
    if labels.dim() == 2:
        return float((labels == labels.mode(0).values).double().mean(0).median())
    _, counts = labels.unique(return_counts=True)  # type: ignore[no-untyped-call]
    return float(counts.max()) / len(labels)
