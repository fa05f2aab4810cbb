"""How often each class occurs in training and in evaluation, and whether training is far more one-sided."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch

LABELS_A_CLASS = 20  # that tell how often each class occurs
RARE = 10.0  # the most frequent class over one that is called rare
MORE = 3.0  # share of the rare classes in evaluation over that in training,
SURELY_MORE = 2.0  # and what it is beyond doubt
LEAST_RARE = 5  # labels of rare classes on both sides
DIFFERENT, SURE = 5.0, 3.0  # standard errors
LEAST_BATCHES = 5
DISORDER = 4.0  # standard deviations that counts may vary from batch to batch beyond those of a random order


@dataclass(frozen=True, slots=True)
class OneSided:
    """Classes that are rare in training and those that are not, and the shares of the rare ones in training and evaluation."""

    rare: tuple[int, ...]
    frequent: tuple[int, ...]
    here: float
    there: float
    differs: bool  # evaluation has far more of them, beyond doubt


def enough(counts: torch.Tensor) -> bool:
    """Whether so many labels tell how often each class occurs."""
    return bool(counts.sum() >= LABELS_A_CLASS * len(counts))


def even(counts: torch.Tensor, held: torch.Tensor) -> bool:
    """Whether surely no class that occurs anywhere is rare in training."""
    occurring = counts[(counts > 0) | (held > 0)]
    return enough(counts) and bool(0.5 * RARE * occurring.min() >= counts.max())


def rare_classes(counts: torch.Tensor) -> list[int]:
    """Those that occur, but seldom: what never occurs may be a class that the data do not have."""
    most = float(counts.max())
    return [code for code, count in enumerate(counts.tolist()) if 0 < RARE * count <= most]


def one_sided(batches: torch.Tensor, held: torch.Tensor) -> OneSided | None:
    """Counts by batch and class in training, and by class in one evaluation; None where too little is known."""
    counts = batches.sum(0)
    rare = rare_classes(counts)
    if not enough(counts) or not rare or not held.sum():
        return None
    seen = float(counts[rare].sum()), float(held[rare].sum())
    if min(seen) < LEAST_RARE or not in_random_order(batches, rare):
        return None
    here, there = counts / counts.sum(), held / held.sum()
    shares = float(here[rare].sum()), float(there[rare].sum())
    ratio, error = math.log(shares[1] / shares[0]), math.sqrt(1 / seen[0] + 1 / seen[1])
    more_even = _odds(float(here.max())) >= SURELY_MORE * _odds(
        float(there.max())
    )  # labels that only changed names are not
    more = ratio >= max(math.log(MORE), DIFFERENT * error, math.log(SURELY_MORE) + SURE * error)
    frequent = (RARE * counts > counts.max()).nonzero().flatten().tolist()
    return OneSided(tuple(rare), tuple(frequent), *shares, more and more_even)


def _odds(share: float) -> float:
    return share / max(1 - share, 1e-9)


def in_random_order(batches: torch.Tensor, rare: list[int]) -> bool:
    """Whether the rare classes vary from batch to batch no more than by chance: of sorted data the batches seen are no sample."""
    sizes = batches.sum(1)
    batches, sizes = batches[sizes > 0], sizes[sizes > 0]
    if len(batches) < LEAST_BATCHES:
        return False
    found = batches[:, rare].sum(1)
    share = found.sum() / sizes.sum()
    variances = sizes * share * (1 - share)
    excess = float(((found - share * sizes) ** 2 / variances).sum()) - (len(batches) - 1)
    return excess <= DISORDER * math.sqrt(float((2 + 1 / variances).sum()))


def worse_recognised(rare: Sequence[float], others: Sequence[float]) -> float:
    """By how many standard errors fewer of the rare samples than of the others are right; each as all, right."""
    share = (rare[1] + others[1]) / (rare[0] + others[0])
    error = math.sqrt(share * (1 - share) * (1 / rare[0] + 1 / others[0]))
    return (others[1] / others[0] - rare[1] / rare[0]) / error if error else 0.0
