"""Which of the training's processes this one is, and how its model is spread over them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

# 'replicated': every rank holds the whole model and DDP keeps them equal; 'sharded': each rank holds a part and has its own
# data; 'apart': nothing seen that ties the ranks' models together; 'other': a mixture, in which nothing need agree
Spread = Literal["replicated", "sharded", "apart", "other"]


def place() -> tuple[int, int]:
    """Rank and number of ranks: the process group's own where there is one, for scripts that spawn their ranks themselves,
    else what a launcher such as torchrun has set."""
    if distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank(), distributed.get_world_size()
    return _number("RANK", 0), _number("WORLD_SIZE", 1)


def in_group() -> bool:
    """Whether several ranks have met."""
    return distributed.is_available() and distributed.is_initialized() and distributed.get_world_size() > 1


def spread_of(models: list[torch.nn.Module]) -> Spread:
    """How these whole models are spread over the ranks. One wrapped in DistributedDataParallel is enough: what must agree is
    then taken from it alone."""
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


def is_sharded(models: Iterable[torch.nn.Module]) -> bool:
    """Whether ranks hold parts of parameters: what runs in the forward pass are then gathered copies, not the parameters."""
    for model in models:
        if any(type(layer).__name__ == "FullyShardedDataParallel" for layer in model.modules()):
            return True
        if any(hasattr(parameter, "device_mesh") for parameter in model.parameters()):
            return True
    return False


def _number(variable: str, otherwise: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() else otherwise
