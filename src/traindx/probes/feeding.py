"""The input pipeline beside the training step, with different numbers of worker processes: how long a step really takes
then.

The data set is the user's, the order is our own and seeded, so that the user's sampler is not touched. Worker processes
are forked copies and end with the measurement."""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.data import DataLoader, IterableDataset, RandomSampler

from traindx.probes.base import Deadline
from traindx.probes.timing import Timed, finish

SEED = 20260104
CHUNK = 4  # steps timed as one, or as many as there are workers: the wait falls on every W-th step
CHUNKS = 8
MOST_WORKERS = 16
FEWEST = 2  # chunks
MOST_ITEMS = 1 << 20  # of a data set that are drawn from
LONGEST_WAIT = 20.0  # seconds for one batch, then the loader is given up


class Unfeedable(Exception):
    """Why a loader cannot be measured."""


class Feeder:
    """Runs training steps with freshly loaded batches beside them."""

    def __init__(self, loader: Any, update: Callable[[], object], device: torch.device, batch: int) -> None:
        self._loader, self._update, self._device = loader, update, device
        if not isinstance(loader, DataLoader):
            raise Unfeedable("no DataLoader of torch was seen.")
        if isinstance(loader.dataset, IterableDataset) or not hasattr(loader.dataset, "__len__"):
            raise Unfeedable("the data set is a stream; reading ahead in it would change the training.")
        self._size = loader.batch_size or getattr(loader.batch_sampler, "batch_size", None) or batch
        self._whole = loader.batch_size is None and loader.batch_sampler is None  # each item is a batch already
        self.workers: int = loader.num_workers
        self.forks = _forks(loader)
        self._round = 0

    def counts(self) -> list[int]:
        """Numbers of workers worth trying, the script's own among them."""
        # beyond the cores: a worker that waits for a disk needs none
        most = min(MOST_WORKERS, max(2 * available_cores(), 4))
        tried = [0, *(2**k for k in range(most.bit_length()) if 2**k <= most)] if self.forks else [0]
        return sorted({*tried, self.workers}) if self.forks else tried

    def feed(self, workers: int, deadline: Deadline) -> Timed:
        """The time of a step with this many workers: loading, and training on a captured batch meanwhile."""
        chunks: list[float] = []
        chunk = max(CHUNK, workers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of more workers than cores
            batches = iter(self._rebuilt(workers))
        try:
            for _ in range(2 + 2 * workers):  # what was loaded ahead while the workers started
                next(batches)
                self._update()
            finish(self._device)
            while len(chunks) < CHUNKS and (len(chunks) < FEWEST or not deadline.passed):
                began = time.perf_counter()
                for _ in range(chunk):
                    next(batches)
                    self._update()
                finish(self._device)
                chunks.append((time.perf_counter() - began) / chunk)
        finally:
            del batches
        return Timed(tuple(chunks))

    def _rebuilt(self, workers: int) -> DataLoader[Any]:
        loader = self._loader
        options: dict[str, Any] = (
            {"sampler": self._items(), "batch_size": None} if self._whole else {"batch_sampler": list(self._batches())}
        )
        if workers:
            options |= {
                "multiprocessing_context": "fork",
                "timeout": LONGEST_WAIT,
                "prefetch_factor": loader.prefetch_factor,
            }
        return DataLoader(
            loader.dataset, num_workers=workers, collate_fn=loader.collate_fn, pin_memory=loader.pin_memory,
            worker_init_fn=loader.worker_init_fn, generator=torch.Generator().manual_seed(SEED), **options,
        )  # fmt: skip

    def _batches(self) -> Iterator[list[int]]:
        items = iter(self._items())
        while chunk := list(islice(items, self._size)):
            yield chunk

    def _items(self) -> list[int]:
        """Enough indices for all chunks, of another part of the data each time: what was read before is in some
        cache."""
        length = min(len(self._loader.dataset), MOST_ITEMS)
        most = max(self.counts())
        wanted = 2 + 2 * most + CHUNKS * max(CHUNK, most)
        wanted *= 1 if self._whole else self._size
        shuffled = isinstance(self._loader.sampler, RandomSampler)
        order = np.random.default_rng(SEED).permutation(length) if shuffled else np.arange(length)
        start, self._round = self._round * wanted, self._round + 1
        return [int(order[(start + k) % length]) for k in range(wanted)]


def _forks(loader: DataLoader[Any]) -> bool:
    """Whether this loader's workers are forked. Other ways to start them run the script again or need to pickle the
    data."""
    context = loader.multiprocessing_context
    # asking without `allow_none` would settle the default, and the script could not choose any more
    method = context.get_start_method() if context is not None else multiprocessing.get_start_method(allow_none=True)
    return method == "fork" or (method is None and sys.platform == "linux" and sys.version_info < (3, 14))


def available_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
