"""Finding tensors in what models are given and give back, and summing them up without touching them."""

from __future__ import annotations

from collections.abc import ItemsView, Iterator, Mapping, Sequence
from typing import Any

import torch

_DEPTH = 4  # batches nest tuples in dicts in tuples; deeper is not data
_LENGTH = 64  # members of a container that are looked at


def entries(value: Mapping[Any, Any]) -> ItemsView[Any, Any]:
    """The keys and members of a mapping: a dictionary's own, whatever a subclass of the user's does when it is asked
    for them."""
    return dict.items(value) if isinstance(value, dict) else value.items()


def tensors_in(value: Any, depth: int = _DEPTH) -> Iterator[torch.Tensor]:
    """Every tensor in nested tuples, lists, mappings and plain dataclass-like outputs, in order."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth and isinstance(value, Mapping):
        for _, member in list(entries(value))[:_LENGTH]:
            yield from tensors_in(member, depth - 1)
    elif depth and isinstance(value, Sequence) and not isinstance(value, str | bytes):
        for member in value[:_LENGTH]:
            yield from tensors_in(member, depth - 1)


# looked up, not multiplied: their rows begin as N(0, 1) in torch, which amplifies nothing
TABLES = (torch.nn.Embedding, torch.nn.EmbeddingBag)


def weight_of(module: torch.nn.Module) -> torch.Tensor | None:
    """The weight that a layer holds, or what a parametrisation computes it from. What a property computes is not asked
    for: that of a spectral norm changes the model."""
    held = dict(module.named_parameters(recurse=False)).get("weight", module.__dict__.get("weight"))
    if isinstance(held, torch.Tensor):
        return held
    computed = dict(module.named_children()).get("parametrizations")
    origin = dict(computed.named_children()).get("weight") if computed is not None else None
    found = dict(origin.named_parameters(recurse=False)) if origin is not None else {}
    return found.get("original", found.get("original0"))


def first_input(args: Any, kwargs: Any) -> torch.Tensor | None:
    """The first tensor with rows among a model's arguments: the data, by convention."""
    return next((tensor for tensor in tensors_in((args, kwargs)) if tensor.dim() >= 1 and tensor.numel() > 0), None)


def wants_gradients(output: Any) -> bool:
    return any(tensor.requires_grad for tensor in tensors_in(output))


def columns(tensor: torch.Tensor) -> torch.Tensor:
    """A view of data as (values, features): the channel of an image batch, the last dimension of anything else."""
    if tensor.dim() <= 1:
        return tensor.reshape(-1, 1)
    if tensor.dim() in (4, 5):
        return tensor.movedim(1, -1).reshape(-1, tensor.shape[1])
    return tensor.reshape(-1, tensor.shape[-1])


def names_of(indices: Sequence[int], limit: int = 4) -> str:
    """'3', '3 and 7', '3, 7, 9, 12 and 5 more'."""
    shown = [str(index) for index in indices[:limit]]
    if len(indices) > limit:
        return f"{', '.join(shown)} and {len(indices) - limit} more"
    return " and ".join(filter(None, (", ".join(shown[:-1]), shown[-1]))) if shown else ""
