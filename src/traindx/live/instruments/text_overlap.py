"""Measures how much of the evaluated text occurs in the training text, by runs of tokens instead of whole rows, and
whether batches come sorted by length.

Runs are known by a 64-bit hash, of which a part is kept. How often runs of later training samples occur in earlier
ones is measured with them: templates and shared prompts make all samples alike, and that is no leak."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.tensors import tensors_in
from traindx.live.tokens.batch import is_text
from traindx.measurements import BatchLengths, TextOverlap

RUN = 13  # tokens, as in the overlap analyses of GPT-3 (Brown et al. 2020)
KEPT = 4  # one of so many hashes is kept
MAX_ROWS = 64  # of a batch
MAX_LENGTH = 1024  # tokens of a row
MAX_RUNS = 400_000  # on each side
MIN_CHANGES = 6  # neighbours in a run that differ: padding and rules of dashes are no text
MAX_LENGTHS = 512  # batches whose lengths are noted
FREE = 400  # batches that are looked at whatever it costs: a step takes a hundred times as long
MIN_BATCHES = 8  # of which an order is reported
MOST_OF = 0.9  # of a sample's runs
MULTIPLIER = -7046029254386353131  # 2**64 / golden ratio, as a signed number

Runs = np.ndarray[Any, np.dtype[np.int64]]


class _Side:
    """Rows that were not seen before on this side, as the kept runs of each."""

    def __init__(self) -> None:
        self.rows: list[Runs] = []
        self.known: set[int] = set()
        self.count = 0

    def add(self, rows: list[tuple[int, Runs]]) -> None:
        for identity, runs in rows:
            if identity not in self.known and len(runs) and self.count < MAX_RUNS:
                self.known.add(identity)
                self.rows.append(runs)
                self.count += len(runs)


class TextOverlaps(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._trained, self._evaluated = _Side(), _Side()
        self._waiting: torch.Tensor | None = None  # a batch; it is not known yet what it is for
        self._length = 0.0
        self._looked = 0
        self._lengths: list[float] = []
        self._between = False

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._was_evaluated()
        if self._trained.count >= MAX_RUNS and self._evaluated.count >= MAX_RUNS:
            return
        if self._looked >= FREE and not self.hub.deep and self.hub.cost >= self.hub.budget:
            return
        named = batch.get("input_ids") if isinstance(batch, Mapping) else None
        ids = named if named is not None else next(tensors_in(batch), None)
        if isinstance(ids, torch.Tensor) and is_text(ids) and ids.is_cpu and ids.shape[1] > RUN:
            self._waiting = ids
            self._looked += 1
            mask = batch.get("attention_mask") if isinstance(batch, Mapping) else None
            whole = isinstance(mask, torch.Tensor) and mask.shape == ids.shape and mask.is_cpu
            self._length = float(mask.sum() / len(ids)) if mask is not None and whole else float(ids.shape[1])

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._waiting is not None:
            self._trained.add(_runs(self._waiting))
            if len(self._lengths) < MAX_LENGTHS:
                self._lengths.append(self._length)
            self._waiting = None
        self._between = False

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between = True

    def _was_evaluated(self) -> None:
        if self._waiting is not None and self._between:
            self._evaluated.add(_runs(self._waiting))
        self._waiting = None

    def on_end(self) -> None:
        self._was_evaluated()
        self._measure_lengths()
        trained, evaluated = self._trained.rows, self._evaluated.rows
        if len(trained) < 2 or not evaluated:
            return
        known, asked = np.unique(np.concatenate(trained)), np.unique(np.concatenate(evaluated))
        half = len(trained) // 2
        earlier, later = np.unique(np.concatenate(trained[:half])), np.unique(np.concatenate(trained[half:]))
        shares = [float(np.isin(row, known).mean()) for row in evaluated]
        self.hub.measure(
            TextOverlap(
                length=RUN,
                training=len(known),
                evaluated=len(asked),
                seen=int(np.isin(asked, known).sum()),
                fresh=len(later),
                fresh_seen=int(np.isin(later, earlier).sum()),
                samples=len(evaluated),
                samples_seen=sum(share >= MOST_OF for share in shares),
            )
        )

    def _measure_lengths(self) -> None:
        lengths = np.array(self._lengths)
        if len(lengths) < MIN_BATCHES or not lengths.std():
            return
        ranks = lengths.argsort(kind="stable").argsort(kind="stable")
        correlation = float(np.corrcoef(np.arange(len(lengths)), ranks)[0, 1])
        spread = float(lengths.std() / lengths.mean())
        self.hub.measure(BatchLengths(batches=len(lengths), correlation=correlation, spread=spread))


def _runs(ids: torch.Tensor) -> list[tuple[int, Runs]]:
    """Each row by a hash of all of it, with the kept hashes of its runs."""
    rows = ids.detach()[:MAX_ROWS, :MAX_LENGTH].numpy().astype(np.int64)
    count = rows.shape[1] - RUN + 1
    if count < 1:
        return []
    with np.errstate(over="ignore"):
        hashes = np.zeros((len(rows), count), np.int64)
        for place in range(RUN):
            hashes = hashes * np.int64(MULTIPLIER) + rows[:, place : place + count] + 1
        changes = np.cumsum(np.pad(rows[:, 1:] != rows[:, :-1], ((0, 0), (1, 0))), 1)
        varied = changes[:, RUN - 1 :] - changes[:, :count] >= MIN_CHANGES
        kept = varied & ((hashes >> 40) % KEPT == 0)
        whole = (rows * (np.arange(rows.shape[1]) * 2 + 1) * np.int64(MULTIPLIER)).sum(1)
    return [(int(one), row[here]) for one, row, here in zip(whole, hashes, kept, strict=True)]


OBSERVER = TextOverlaps
