"""The tables that a batch may have been cut from: tensors and arrays that the user's running functions hold, in a
variable, a container or an attribute. They are found by looking at what is there; no code of the user's is run."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from types import FunctionType, GetSetDescriptorType, ModuleType
from typing import Any

import numpy as np
import torch

from traindx.live.events.places import outer, user_frame, variables
from traindx.live.measures.rows import watchable

MAX_FRAMES = 6  # functions of the user around the model's call
MAX_LEVELS = 3  # of containers and attributes: `run.data["train"][0]`
MAX_LOOKED = 2000  # things
MAX_MEMBERS = 64  # of a container: a longer one holds samples
MAX_PROBED = 4  # rows of a batch that are looked for in a table
MAX_COLUMNS = 8  # by which they are looked for first
MAX_ALIKE = 64  # rows that agree in those
_CLOSED = (ModuleType, FunctionType, type, torch.nn.Module, torch.Tensor, np.ndarray, str, bytes, int, float)


def tables_like(batch: torch.Tensor) -> list[torch.Tensor]:
    """Tables with more rows than the batch and as many numbers in each, as (rows, numbers): smallest first."""
    found: dict[tuple[int, int], torch.Tensor] = {}
    for value in islice(_reachable(), MAX_LOOKED):
        table = _as_table(value, batch)
        if table is not None:
            found.setdefault((table.data_ptr(), len(table)), table)
    return sorted(found.values(), key=len)


def holds(table: torch.Tensor, batch: torch.Tensor) -> bool:
    """Whether rows of a batch stand in a table, both in host memory. They are compared where the batch varies most, and
    what agrees there in one number more after the other: a long table is read in one column only."""
    telling = batch.double().std(0, correction=0).topk(min(MAX_COLUMNS, batch.shape[1])).indices.tolist()
    first = table[:, telling[0]].to(batch.dtype)
    for row in batch[:: max(1, len(batch) // MAX_PROBED)]:
        places = (first == row[telling[0]]).nonzero().flatten()
        for column in telling[1:]:
            places = places[table[places, column].to(batch.dtype) == row[column]]
        if not bool((table[places[:MAX_ALIKE]].to(batch.dtype) == row).all(1).any()):
            return False
    return True


def _as_table(value: Any, batch: torch.Tensor) -> torch.Tensor | None:
    if type(value) is np.ndarray:
        value = _shared(value)
    if not issubclass(type(value), torch.Tensor) or not watchable(value) or value.dim() < 2:
        return None
    if value.layout != torch.strided or value.is_complex() or value.requires_grad:
        return None
    alike = value.is_floating_point() == batch.is_floating_point() and value[0].numel() == batch[0].numel()
    flat = value.dim() == 2 or value.is_contiguous()  # others would have to be copied
    return value.detach().flatten(1) if alike and flat and len(value) > len(batch) else None


def _shared(array: np.ndarray[Any, Any]) -> torch.Tensor | None:
    """The same numbers as a tensor, where torch makes one without a copy or a warning."""
    known = array.dtype.kind in "fiu" and array.dtype.isnative and array.dtype.itemsize <= 8
    plain = array.size > 0 and array.flags.writeable and all(step >= 0 for step in array.strides)
    unsigned = array.dtype.kind == "u" and array.dtype.itemsize > 1
    return torch.from_numpy(array) if known and plain and not unsigned else None


def _reachable() -> Iterator[Any]:
    """What the variables of running functions hold, nearest first."""
    waiting: deque[tuple[Any, int]] = deque()
    frame = user_frame()
    for _ in range(MAX_FRAMES):
        if frame is None:
            break
        waiting.extend((value, 0) for value in [*variables(frame).values(), *frame.f_globals.values()])
        frame = outer(frame)
    met: set[int] = set()
    while waiting:
        value, level = waiting.popleft()
        if id(value) in met:
            continue
        met.add(id(value))
        yield value
        if level < MAX_LEVELS:
            waiting.extend((member, level + 1) for member in _members(value))


def _members(value: Any) -> Iterable[Any]:
    """Read as the interpreter's own types, whatever a class of the user's makes of iteration and attributes."""
    kind = type(value)
    if issubclass(kind, dict):
        return list(dict.values(value)) if dict.__len__(value) <= MAX_MEMBERS else ()
    if issubclass(kind, list):
        return list(list.__iter__(value)) if list.__len__(value) <= MAX_MEMBERS else ()
    if issubclass(kind, tuple):
        return list(tuple.__iter__(value)) if tuple.__len__(value) <= MAX_MEMBERS else ()
    if issubclass(kind, _CLOSED):
        return ()
    own = next((vars(base)["__dict__"] for base in kind.__mro__ if "__dict__" in vars(base)), None)
    if type(own) is not GetSetDescriptorType:
        return ()
    return list(own.__get__(value).values())[:MAX_MEMBERS]
