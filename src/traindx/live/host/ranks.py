"""Which of the training's processes this one is, and how its model is spread over them."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from typing import Literal

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

LAST_MOMENT = (
    0.05  # seconds; a thread that waits for the lock has it in microseconds, on a busy machine in milliseconds
)
# 'replicated': every rank holds the whole model and DDP keeps them equal; 'sharded': each rank holds a part and has its
# own data; 'apart': nothing seen that ties the ranks' models together; 'other': a mixture, in which nothing need agree
Spread = Literal["replicated", "sharded", "apart", "other"]


def place() -> tuple[int, int]:
    """Rank and number of ranks: the process group's own where there is one, for scripts that spawn their ranks
    themselves, else what a launcher such as torchrun has set."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def in_group() -> bool:
    """Whether several ranks have met."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def spread_of(models: list[torch.nn.Module]) -> Spread:
    """How these whole models are spread over the ranks. One wrapped in DistributedDataParallel is enough: what must
    agree is then taken from it alone."""
    world = distributed.get_world_size()
    wrapped = [model for model in models if isinstance(model, DistributedDataParallel)]
    if wrapped:
        plain = all(
            distributed.get_world_size(model.process_group) == world and not getattr(model, "_comm_hooks", None)
            for model in wrapped
        )
        return "replicated" if plain else "other"  # local SGD is a communication hook: its replicas drift by design
    layers = [layer for model in models for layer in model.modules()]
    if any(type(layer).__name__ == "FullyShardedDataParallel" for layer in layers):
        return "other"
    meshes = [
        mesh for layer in layers for p in layer.parameters(recurse=False) if (mesh := getattr(p, "device_mesh", None))
    ]
    if not meshes:
        return "apart"
    whole = all(mesh.ndim == 1 and mesh.size() == world for mesh in meshes)
    fsdp = any(kind.__name__ == "FSDPModule" for layer in layers for kind in type(layer).__mro__)
    return "sharded" if whole and fsdp else "other"


def let_threads_finish() -> None:
    """A moment without the interpreter's lock, before the interpreter shuts down. A thread of the process group that
    has made the last exchange needs the lock to drop what it held for it; where the script ends right after, it asks
    too late, and CPython before 3.14 ends it by force, which aborts the process. That happens without a recorder as
    well, but whoever watches is blamed for it."""
    time.sleep(LAST_MOMENT)


def is_sharded(models: Iterable[torch.nn.Module]) -> bool:
    """Whether ranks hold parts of parameters: what runs in the forward pass are then gathered copies, not the
    parameters."""
    for model in models:
        if any(type(layer).__name__ == "FullyShardedDataParallel" for layer in model.modules()):
            return True
        if any(hasattr(parameter, "device_mesh") for parameter in model.parameters()):
            return True
    return False


def _number(variable: str, otherwise: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else otherwise
