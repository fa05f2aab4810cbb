"""Names for parameters: those of the models seen, then those that only an optimiser knows."""

from __future__ import annotations

from collections.abc import Iterable

import torch

from traindx.live.events.hub import Hub

WRAPPERS = ("_orig_mod.", "module.", "_fsdp_wrapped_module.")  # torch.compile, data parallel and sharded wrappers


def model_parameters(hub: Hub) -> dict[int, tuple[str, torch.nn.Parameter]]:
    """Every parameter of the models seen, by id, in the order of their definition; shared ones once."""
    found: dict[int, tuple[str, torch.nn.Parameter]] = {}
    for number, model in enumerate(hub.models.values()):
        prefix = f"{type(model).__name__}." if number else ""
        for name, parameter in model.named_parameters():
            found.setdefault(id(parameter), (prefix + plain(name), parameter))
    return found


def optimized(optimizers: Iterable[torch.optim.Optimizer]) -> dict[int, torch.Tensor]:
    """Every tensor these optimisers update, by id."""
    return {id(p): p for optimizer in optimizers for group in optimizer.param_groups for p in group["params"]}


def plain(name: str) -> str:
    for wrapper in WRAPPERS:
        name = name.replace(wrapper, "")
    return name


def layer_of(parameter: str) -> str:
    """'fc1.weight' belongs to 'fc1'."""
    return parameter.rpartition(".")[0] or parameter


def listed(names: Iterable[str], most: int = 4) -> str:
    """A few names for a sentence."""
    every = list(names)
    return ", ".join(every[:most]) + (f" and {len(every) - most} more" if len(every) > most else "")
