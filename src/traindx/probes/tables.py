"""Batches and weights from files that cannot run code: .npz, .npy, .csv, .safetensors and what torch loads as plain
tensors."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch

from traindx.checkpoints import safetensors
from traindx.checkpoints.tensor import blocks
from traindx.errors import TraindxError

ACCEPTED = ".pt with plain tensors (weights_only), .safetensors, .npz, .npy or .csv (last column: the target)"
WEIGHTS = "a state_dict saved with torch.save, or .safetensors"
_WHOLE = 1e-9


def tensors_of(path: Path) -> Any:
    """What is in a file: a tensor, a tuple (x, y) or tensors by name. Nothing is unpickled."""
    if not path.is_file():
        raise TraindxError(f"{path} does not exist.", f"Give a file: {ACCEPTED}.")
    try:
        loaded = _READERS.get(path.suffix.lower(), _torch)(path)
    except TraindxError:
        raise
    except Exception as error:
        sentence = str(error).splitlines()[0][:160] if str(error) else type(error).__name__
        raise TraindxError(
            f"{path} cannot be loaded safely: {sentence}", f"A pickle is never opened; give {ACCEPTED}."
        ) from error
    if not isinstance(loaded, torch.Tensor | tuple | list | dict):
        raise TraindxError(f"{path} holds a {type(loaded).__name__}.", f"Give tensors instead: {ACCEPTED}.")
    return loaded


def _torch(path: Path) -> Any:
    with warnings.catch_warnings(action="ignore"):
        return torch.load(path, map_location="cpu", weights_only=True)


def _npz(path: Path) -> Any:
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: _tensor(archive[name]) for name in archive.files}
    for names in (("x", "y"), ("inputs", "targets"), ("data", "labels"), ("X", "Y")):
        if set(names) <= arrays.keys():
            return tuple(arrays[name] for name in names)
    return tuple(arrays.values())


def _npy(path: Path) -> Any:
    return _tensor(np.load(path, allow_pickle=False))


def _csv(path: Path) -> Any:
    """Rows of numbers; a first line without numbers is a heading."""
    first = path.read_text("utf-8").lstrip().split("\n", 1)[0]
    headed = not all(_is_number(word) for word in first.split(","))
    table = np.loadtxt(path, delimiter=",", skiprows=1 if headed else 0, ndmin=2)
    if table.shape[1] < 2:
        raise TraindxError(f"{path} has one column.", "Give inputs and, as the last column, the target.")
    target = table[:, -1]
    whole = bool(np.all(np.abs(target - np.round(target)) < _WHOLE))
    return _tensor(table[:, :-1]), torch.from_numpy(target.astype(np.int64 if whole else np.float32))


def _safetensors(path: Path) -> Any:
    found, _, lost = safetensors.read(path)
    if lost:
        raise TraindxError(f"{path} is damaged: {lost[0]}", "Copy or download it again.")
    return {
        one.name: torch.from_numpy(np.concatenate([*blocks(one)]).reshape(one.shape))
        if one.size
        else torch.zeros(one.shape)
        for one in found
    }


def _tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """Inputs as networks take them: single precision, class numbers as they are."""
    whole = array.dtype.kind in "iub"
    return torch.from_numpy(np.ascontiguousarray(array, np.int64 if whole and array.ndim < 2 else np.float32))


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


_READERS = {".npz": _npz, ".npy": _npy, ".csv": _csv, ".safetensors": _safetensors}
