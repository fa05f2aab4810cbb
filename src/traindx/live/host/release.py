"""Letting go, at the end of a recording, of everything that belongs to the user.

A function of torch that was patched may have been kept by others (`from torch.nn.utils import clip_grad_norm_`, the
tables of torch.compile), and with it the hub. A model that lives on through it is freed too late or never; one in
DistributedDataParallel holds a process group whose threads must not outlive the interpreter."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any

import torch

USERS = (torch.Tensor, torch.nn.Module, torch.optim.Optimizer)
CONTAINERS = (dict, list, set, deque)
_OWN = __name__.partition(".")[0]
_DEPTH = 3  # an observer, its findings and what those hold


def release(holders: Iterable[Any]) -> None:
    """Empty the containers of these objects of ours, and drop the tensors, models and optimisers they hold directly."""
    for holder in holders:
        _release(holder, _DEPTH)


def _release(holder: Any, depth: int) -> None:
    for name, value in list(vars(holder).items()):
        if isinstance(value, CONTAINERS):
            value.clear()
        elif isinstance(value, USERS) or (isinstance(value, tuple) and any(isinstance(one, USERS) for one in value)):
            setattr(holder, name, None)
        elif (
            depth and name != "hub" and type(value).__module__.partition(".")[0] == _OWN and hasattr(value, "__dict__")
        ):
            _release(value, depth - 1)
