"""Measures how often each class occurs in training and in evaluation, and how well rare classes are recognised."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from traindx.measurements import RareClasses

LABELS_A_CLASS = 20  # from which on it makes sense to calculate with how often each class occurs
RARE = 10.0  # the most frequent class over one that is called rare
MAX_NAMED = 3  # rare classes that are written down


def is_even(counts: torch.Tensor, held: torch.Tensor) -> bool:
    """Whether surely no class that occurs anywhere is rare in training, so that no more needs to be counted."""
    enough = bool(counts.sum() >= LABELS_A_CLASS * len(counts))
    return enough and bool(0.5 * RARE * _occurring(counts, held).min() >= counts.max())


def rare_in(batches: torch.Tensor, rows: torch.Tensor, complete: bool, worse: Sequence[float] = ()) -> RareClasses:
    """Labels by batch and class in training, beside one evaluation: its labels and the recognised ones by batch and
    class. `worse` are the standard errors of the evaluations before."""
    labels = rows[:, 0]
    counts, (held, right) = batches.sum(0), rows.sum(0)
    # those that occur, but seldom: what never occurs may be a class that the data do not have
    is_frequent = RARE * counts > counts.max()
    is_rare = (counts > 0) & ~is_frequent
    of_rare, of_frequent = ((float(held[which].sum()), float(right[which].sum())) for which in (is_rare, is_frequent))
    if of_rare[0] and of_frequent[0]:
        worse = (*worse, worse_recognised(of_rare, of_frequent))
    codes = is_rare.nonzero().flatten().tolist()
    return RareClasses(
        classes=len(counts),
        batches=int((batches.sum(1) > 0).sum()),
        labels=int(counts.sum()),
        most=int(counts.max()),
        fewest=int(_occurring(counts, held).min()),
        rare=tuple(codes[:MAX_NAMED]),
        rare_classes=len(codes),
        rare_labels=int(counts[is_rare].sum()),
        disorder=disorder(batches, is_rare),
        held_batches=int((labels.sum(1) > 0).sum()),
        held_labels=int(held.sum()),
        held_most=int(held.max()),
        held_disorder=disorder(labels, is_rare),
        complete=complete,
        held_rare=int(of_rare[0]),
        held_rare_right=int(of_rare[1]),
        held_frequent=int(of_frequent[0]),
        held_frequent_right=int(of_frequent[1]),
        worse=tuple(worse),
    )


def _occurring(counts: torch.Tensor, held: torch.Tensor) -> torch.Tensor:
    """Training labels of each class that occurs in training or in evaluation."""
    return counts[(counts > 0) | (held > 0)]


def disorder(batches: torch.Tensor, which: torch.Tensor) -> float:
    """By how many standard deviations the count of some classes varies more from batch to batch than in a random order;
    0 where it cannot vary."""
    sizes = batches.sum(1)
    batches, sizes = batches[sizes > 0], sizes[sizes > 0]
    found = batches[:, which].sum(1)
    share = found.sum() / sizes.sum()
    if not 0 < share < 1:
        return 0.0
    variances = sizes * share * (1 - share)
    excess = float(((found - share * sizes) ** 2 / variances).sum()) - (len(batches) - 1)
    return excess / math.sqrt(float((2 + 1 / variances).sum()))


def worse_recognised(rare: Sequence[float], others: Sequence[float]) -> float:
    """By how many standard errors fewer of the rare samples than of the others are right; each as all, right."""
    share = (rare[1] + others[1]) / (rare[0] + others[0])
    error = math.sqrt(share * (1 - share) * (1 / rare[0] + 1 / others[0]))
    return (others[1] / others[0] - rare[1] / rare[0]) / error if error else 0.0
