"""Samples that both the training and the held-out data hold, found by reading both data sets once more."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Any

import torch
from torch.utils.data import DataLoader

from traindx.live.instruments.leaks import row_hashes, some_of
from traindx.probes.base import Deadline
from traindx.probes.checks import Answer
from traindx.probes.held_out import readable, reread
from traindx.probes.nested import tensors
from traindx.probes.subject import Subject
from traindx.symptoms.validation_seen_in_training import ALL, EVALUATED, EXPECTED, LEAK, LEAKED

MOST_HELD_OUT, MOST_TRAINED = 1_000, 100_000  # samples
BATCH = 32  # between two looks at the time: a sample may take long to read
TWICE = 8  # samples that are read two times, to see whether they are the same both times
DISTINCT = 0.9  # of the samples
SMALLER = 0.9  # of the training data: as large and all of it is a metric of the training


@dataclass(frozen=True)
class Overlap:
    """`shared` of `looked` held-out samples are among the `known` share of the training samples."""

    shared: int
    looked: int
    known: float
    size: int  # of the held-out data
    trained: int  # of the training data

    @property
    def share(self) -> float:
        return min(1.0, self.shared / self.looked / self.known)


def seen_in_training(subject: Subject, deadline: Deadline) -> tuple[Answer, float]:
    """Whether held-out samples are trained on, and how clear that is."""
    if not subject.held_out_loaders:
        return Answer(None, "no loader of held-out data was seen"), 0.0
    if not readable(subject.loader):
        return Answer(None, "the training data cannot be read once more"), 0.0
    known = _hashes(subject.loader, MOST_TRAINED, deadline)
    found = [
        one
        for loader in subject.held_out_loaders
        if known and (one := _overlap(loader, subject.loader, known)) is not None
    ]
    if not found:
        return Answer(
            None, "samples cannot be compared: they are few, alike, or other ones each time they are read"
        ), 0.0
    # a set that lies all in the training data beside another that does not: a metric of the training
    others = [one for one in found if not ALL.reached(one.share)] or [
        one for one in found if one.size < SMALLER * one.trained
    ]
    if not others:
        return Answer(None, "the only other loader gives the training data"), 0.0
    worst = max(others, key=lambda one: one.share)
    sentence = (
        f"{worst.shared} of {worst.looked} held-out samples are among {round(worst.known * worst.trained)} "
        f"training samples"
    )
    if LEAK.reached(worst.share) and LEAKED.reached(worst.shared):
        return Answer(True, sentence), 0.8 if ALL.reached(worst.share) else 1.0
    sure = not worst.shared and EXPECTED.reached(worst.looked * worst.known * LEAK.value)
    return Answer(False if sure else None, sentence), 1.0


def _overlap(loader: Any, training: DataLoader[Any], known: set[int]) -> Overlap | None:
    rows = _hashes(loader, MOST_HELD_OUT, Deadline(1.0))
    size, trained = len(loader.dataset), len(training.dataset)  # type: ignore[arg-type]
    if len(rows) < min(EVALUATED.value, size):
        return None
    return Overlap(len(rows & known), len(rows), min(1.0, len(known) / trained), size, trained)


def _hashes(loader: DataLoader[Any], most: int, deadline: Deadline) -> set[int]:
    """Of as many samples as time allows, in random order; none where they change from one reading to the next, or where
    many are alike, so that equal ones mean nothing."""
    first = [_rows(batch) for batch in islice(reread(loader, TWICE), 1)]
    again = [_rows(batch) for batch in islice(reread(loader, TWICE), 1)]
    if first != again:
        return set()
    found: set[int] = set()
    read = 0
    for batch in reread(loader, BATCH):
        rows = _rows(batch)
        read += len(rows)
        found.update(rows)
        if len(found) >= most or deadline.passed:
            break
    return found if len(found) >= DISTINCT * read else set()


def _rows(batch: Any) -> list[int]:
    data = next((tensor for tensor in tensors(batch) if tensor.dim() >= 2), None)
    some = some_of(data) if isinstance(data, torch.Tensor) else None
    return [] if some is None else row_hashes(some)
