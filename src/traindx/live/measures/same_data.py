"""Tells whether two things hold the same samples, by a number that equal ones share: loaders, data sets, tensors and
arrays. What is not known to be data has none. No code of the user's is run; devices are not waited for."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from types import GetSetDescriptorType
from typing import Any

import numpy as np
import torch
from torch.utils.data import (
    DataLoader,
    Dataset,
    RandomSampler,
    SequentialSampler,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
)  # fmt: skip

from traindx.live.measures.rows import watchable

MIN_ROWS = 25
MIN_COLUMNS = 4  # of numbers in a row: fewer may be a grid, which is the same wherever it is made
MIN_LENGTH = 200  # of one row of numbers, such as a text
MIN_DIFFERENT = 10  # numbers among those that are compared: labels that come in order are equal by chance
PROBED = 512  # numbers of an array that are compared
MAX_MEMBERS = 64  # attributes of a data set
SIMPLE_SAMPLERS = (RandomSampler, SequentialSampler)
SCALARS = (bool, int, float, str)


def key_of(value: Any) -> str | None:
    """None where it is not data, or where equal ones would say nothing."""
    kind = type(value)
    if issubclass(kind, DataLoader):
        return _loader(value)
    if issubclass(kind, Dataset):
        return _dataset(value)
    return _array(value) if issubclass(kind, torch.Tensor | np.ndarray) else None


def _loader(loader: DataLoader[Any]) -> str | None:
    sampler = getattr(loader.batch_sampler, "sampler", loader.sampler)
    if type(sampler) in SIMPLE_SAMPLERS:
        return _dataset(loader.dataset)
    if type(sampler) is SubsetRandomSampler:
        return _part(loader.dataset, sampler.indices)
    return None


def _part(dataset: Any, indices: Any) -> str | None:
    whole = _dataset(dataset)
    return None if whole is None else _joined("part", whole, sorted(int(index) for index in indices))


def _dataset(dataset: Any) -> str | None:
    """By its arrays and lists and by what it was given, such as the part of the data that it is of; by itself where it
    keeps no samples."""
    if type(dataset) is Subset:
        return _part(dataset.dataset, dataset.indices)
    if type(dataset) is TensorDataset:
        keys = [_content(tensor) for tensor in dataset.tensors]
        return _joined("tensors", *keys) if any(keys) else f"object {id(dataset)}"
    members = sorted(_attributes(dataset), key=lambda member: member[0])[:MAX_MEMBERS]
    kept = [(name, _content(value)) for name, value in members]
    stated = [(name, value) for name, value in members if type(value) in SCALARS]
    found = [one for one in kept if one[1] is not None]
    return _joined("members", type(dataset).__qualname__, found, stated) if found else f"object {id(dataset)}"


def _attributes(value: Any) -> Iterable[tuple[str, Any]]:
    """Read as the interpreter's own, whatever a class of the user's makes of attributes."""
    own = next((vars(base)["__dict__"] for base in type(value).__mro__ if "__dict__" in vars(base)), None)
    return list(own.__get__(value).items()) if type(own) is GetSetDescriptorType else ()


def _array(value: Any) -> str | None:
    """Of one that stands alone: it must be long and varied enough to be equal to another for one reason only."""
    rows = len(value) if value.ndim else 0
    wide = value.ndim > 1 and rows >= MIN_ROWS and value[0].numel() if isinstance(value, torch.Tensor) else 0
    if isinstance(value, np.ndarray):
        wide = int(np.prod(value.shape[1:])) if value.ndim > 1 and rows >= MIN_ROWS else 0
    if wide < MIN_COLUMNS and (value.ndim != 1 or rows < MIN_LENGTH):
        return None
    return _content(value)


def _content(value: Any) -> str | None:
    """By numbers from all over it; by its place in memory on a device, where to look would be to wait."""
    kind = type(value)
    if kind in (list, tuple):
        return _list(value)
    if issubclass(kind, torch.Tensor):
        if not watchable(value) or value.layout != torch.strided or not value.ndim or len(value) < MIN_ROWS:
            return None
        if value.device.type != "cpu":
            return _joined("place", value.data_ptr(), tuple(value.shape), value.stride())
        if value.is_complex() or value.dtype is torch.bfloat16 or value.is_quantized:
            return None
        flat = value.detach()
        probed = flat.as_strided((flat.numel(),), (1,), flat.storage_offset()) if flat.is_contiguous() else None
        return _probed(probed[:: max(1, len(probed) // PROBED)].numpy(), value.shape) if probed is not None else None
    if kind is np.ndarray and value.dtype.kind in "biuf" and value.ndim and len(value) >= MIN_ROWS:
        flat = value.reshape(-1) if value.flags.c_contiguous else None
        return _probed(flat[:: max(1, len(flat) // PROBED)], value.shape) if flat is not None else None
    return None


def _probed(numbers: np.ndarray[Any, Any], shape: Iterable[int]) -> str | None:
    steps = np.diff(numbers.astype(np.float64))
    ordered = len(steps) > 0 and bool((steps >= 0).all() or (steps <= 0).all())
    if ordered or len(np.unique(numbers)) < MIN_DIFFERENT:
        return None
    return _joined("numbers", tuple(shape), numbers.dtype.str, numbers.tobytes())


def _list(value: Any) -> str | None:
    """Of texts, names of files and the like; a list of numbers may be the course of anything."""
    if len(value) < MIN_ROWS or isinstance(value[0], SCALARS[:3]):
        return None
    some = [value[place] for place in range(0, len(value), max(1, len(value) // MAX_MEMBERS))]
    kept = [one if type(one) is str or _plain(one) else id(one) for one in some]
    return _joined("list", len(value), kept)


def _plain(value: Any) -> bool:
    return type(value) is tuple and all(type(one) in SCALARS for one in value)


def _joined(*parts: Any) -> str:
    return hashlib.blake2b(repr(parts).encode("utf-8", "replace"), digest_size=12).hexdigest()
