"""Keep every sample in memory after its first reading, where a sample is the same each time it is read."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset

from traindx.trials.treatment import Treatment

MOST_BYTES = 4 << 30  # of samples that are kept


class Cache(Treatment):
    def attach(self) -> None:
        self._known: dict[
            int, tuple[Any, Any]
        ] = {}  # data sets and what stands for them, for loaders that are built anew
        self.hub.patch(DataLoader, "__init__", self._around)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __init__(loader: Any, dataset: Any, *args: Any, **kwargs: Any) -> None:
            if not isinstance(dataset, IterableDataset) and len(dataset):
                dataset = self._with_memory(dataset)
            original(loader, dataset, *args, **kwargs)

        return __init__

    def _with_memory(self, dataset: Any) -> Any:
        if id(dataset) not in self._known:
            self._known[id(dataset)] = dataset, Kept(dataset) if _same_again(dataset) else dataset
        kept = self._known[id(dataset)][1]
        self.acted += kept is not dataset
        return kept


class Kept(Dataset[Any]):
    """The dataset with a memory. What it does not know is asked of the dataset itself."""

    def __init__(self, dataset: Any) -> None:
        self._dataset = dataset
        self._samples: dict[Any, Any] = {}
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: Any) -> Any:
        if index in self._samples:
            return self._samples[index]
        sample = self._dataset[index]
        if self._bytes < MOST_BYTES:
            self._samples[index] = sample
            self._bytes += sum(one.numel() * one.element_size() for one in _tensors(sample))
        return sample

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_dataset"], name)


def _same_again(dataset: Any) -> bool:
    """Whether a sample that is read twice is the same: random augmentation must not be frozen. The random numbers are
    put back."""
    states = torch.get_rng_state(), random.getstate()
    try:
        first, second = dataset[0], dataset[0]
    finally:
        torch.set_rng_state(states[0])
        random.setstate(states[1])
    pairs = list(zip(_tensors(first), _tensors(second), strict=True))
    return bool(pairs) and all(torch.equal(*pair) for pair in pairs)


def _tensors(sample: Any) -> Iterable[torch.Tensor]:
    if isinstance(sample, torch.Tensor):
        yield sample
    elif isinstance(sample, dict):
        for value in sample.values():
            yield from _tensors(value)
    elif isinstance(sample, (tuple, list)):
        for value in sample:
            yield from _tensors(value)
    elif hasattr(sample, "__array__"):
        yield torch.as_tensor(sample.__array__())


TREATMENT = Cache
