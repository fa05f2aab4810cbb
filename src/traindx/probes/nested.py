"""Tensors inside nested containers: found in order, and exchanged without touching the originals."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch

DEPTH = 8  # arguments and outputs do not nest deeper


def exchange(value: Any, change: Callable[[torch.Tensor], Any], depth: int = DEPTH) -> Any:
    """The same structure with every tensor replaced; containers of kinds that cannot be rebuilt stay as they are."""
    if isinstance(value, torch.Tensor):
        return change(value)
    if not depth:
        return value
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(exchange(member, change, depth - 1) for member in value))
    if type(value) in (tuple, list):
        return type(value)(exchange(member, change, depth - 1) for member in value)
    if type(value) is dict:
        return {key: exchange(member, change, depth - 1) for key, member in value.items()}
    if isinstance(value, slice):
        return slice(*(exchange(end, change, depth - 1) for end in (value.start, value.stop, value.step)))
    return value


def tensors(value: Any, depth: int = DEPTH) -> Iterator[torch.Tensor]:
    """Every tensor in order: in containers, in dataclasses and in the plain attributes of other objects (model
    outputs)."""
    if isinstance(value, torch.Tensor):
        yield value
        return
    if not depth or value is None or isinstance(value, str | bytes | int | float | torch.nn.Module | type):
        return
    if isinstance(value, Mapping):
        members: Any = list(value.values())
    elif isinstance(value, tuple | list):
        members = value
    elif isinstance(value, slice):
        members = (value.start, value.stop, value.step)
    elif dataclasses.is_dataclass(value):
        members = [getattr(value, one.name, None) for one in dataclasses.fields(value)]
    elif type(value).__module__.partition(".")[0] not in ("builtins", "torch", "numpy") and hasattr(value, "__dict__"):
        members = list(vars(value).values())
    else:
        return
    for member in members:
        yield from tensors(member, depth - 1)
