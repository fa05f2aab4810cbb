"""What a checkpoint is made of: weights, optimisers, how far the training was, and the settings that were saved with
it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traindx.checkpoints.allowed import Object
from traindx.checkpoints.tensor import Tensor, scalar

# branches of a saved tree that hold tensors which are no weights
_NOT_WEIGHTS = re.compile(
    r"rng|random|generator_state|callbacks|loops|sampler|lr_sched|scheduler|scaler|(?:^|_)amp(?:_|$)|hparams|hyper_param|args|config|metrics|^fsdp",
    re.IGNORECASE,
)
_STEPS = (
    "global_step",
    "global_steps",
    "step",
    "steps",
    "iteration",
    "iterations",
    "iter",
    "iter_num",
    "num_updates",
    "it",
)
_SETTINGS = ("hyper_parameters", "hparams", "config", "cfg", "args", "model_args", "opt_args", "train_args", "settings")
_WRAPPERS = re.compile(r"^(?:module\.|_orig_mod\.|_forward_module\.|model\._orig_mod\.)+")
MOST_TENSORS = 250_000
MOST_STEP = 1e12
MOST_NUMBER = 10**18
OPTIMIZER_DEPTH, DEEPEST = 4, 60


@dataclass
class Group:
    """Parameters of an optimiser that share their settings; `names` where the file has them."""

    options: dict[str, Any]
    indices: list[Any]
    names: list[str] | None = None


@dataclass
class OptimizerState:
    """One saved optimiser: its groups, and what it keeps for each parameter (moments, step)."""

    groups: list[Group]
    state: dict[Any, dict[str, Any]]

    @property
    def adam(self) -> bool:
        return any("betas" in group.options for group in self.groups)


@dataclass
class Checkpoint:
    """One checkpoint, whatever it was written by. `step` is how many updates it says were made, `lost` what was not
    read."""

    path: Path
    format: str
    weights: dict[str, Tensor]
    optimizers: list[OptimizerState] = field(default_factory=list)
    step: float | None = None
    config: dict[str, Any] = field(default_factory=dict)
    curves: Path | None = None  # the trainer's own log beside it
    lost: list[str] = field(default_factory=list)

    @property
    def ordered(self) -> bool:
        """Whether the weights stand in the order of the model: torch keeps it, safetensors sorts by name."""
        return self.format in ("torch", "lightning")


def plain_name(name: str) -> str:
    """The name without what DistributedDataParallel, torch.compile and DeepSpeed put before it."""
    return _WRAPPERS.sub("", name)


def natural(name: str) -> tuple[tuple[int, str], ...]:
    """A key under which layer 2 comes before layer 10."""
    pieces = re.split(r"(\d+)", name)
    return tuple((int(piece[:9]), "") if piece.isdecimal() else (-1, piece) for piece in pieces if piece)


def optimizers_in(tree: Any) -> list[OptimizerState]:
    """Every dictionary with 'state' and 'param_groups' near the top, in order."""
    found: list[OptimizerState] = []
    seen: set[int] = set()  # what is referred to many times is looked at once

    def look(branch: Any, depth: int) -> None:
        if id(branch) in seen or depth > OPTIMIZER_DEPTH:
            return
        seen.add(id(branch))
        if is_optimizer(branch):
            found.append(_optimizer(branch))
        elif isinstance(branch, Mapping | list | tuple):
            for value in branch.values() if isinstance(branch, Mapping) else branch:
                look(value, depth + 1)

    look(tree, 0)
    return found


def is_optimizer(tree: Any) -> bool:
    return (
        isinstance(tree, Mapping)
        and isinstance(tree.get("state"), Mapping)
        and isinstance(tree.get("param_groups"), list)
    )


def _optimizer(tree: Mapping[Any, Any]) -> OptimizerState:
    groups = []
    for group in tree["param_groups"]:
        if isinstance(group, Mapping):
            indices, names = group.get("params"), group.get("param_names")
            options = {str(key): _number(value) for key, value in group.items() if key not in ("params", "param_names")}
            groups.append(
                Group(options, list(indices) if isinstance(indices, list) else [],
                      [str(n) for n in names] if isinstance(names, list) else None)
            )  # fmt: skip
    state = {key: _kept(value) for key, value in tree["state"].items() if isinstance(value, Mapping)}
    return OptimizerState(groups, state)


def _kept(state: Mapping[Any, Any]) -> dict[str, Any]:
    """What an optimiser keeps for one parameter: moments stay on disk, numbers are read."""
    return {str(name): value if isinstance(value, Tensor) else _number(value) for name, value in state.items()}


def weights_in(tree: Any) -> dict[str, Tensor]:
    """The tensors of a saved tree by dotted name, without the optimiser's. A single branch ('state_dict') loses its
    name."""
    if isinstance(tree, Tensor):
        return {tree.name or "tensor": tree.named(tree.name or "tensor")}
    branches: dict[str, dict[str, Tensor]] = {}
    loose: dict[str, Tensor] = {}
    items = tree.items() if isinstance(tree, Mapping) else enumerate(tree) if isinstance(tree, list | tuple) else ()
    for key, value in items:
        if isinstance(value, Tensor):
            loose[str(key)] = value
        elif not is_optimizer(value) and not _NOT_WEIGHTS.search(str(key)):
            found: dict[str, Tensor] = {}
            _collect(value, "", found, set())
            if found:
                branches[str(key)] = found
    if len(branches) == 1 and all(tensor.size <= 1 for tensor in loose.values()):
        (named,) = branches.values()
    else:
        named = loose | {f"{key}.{name}": tensor for key, inside in branches.items() for name, tensor in inside.items()}
    return {plain_name(name): tensor.named(plain_name(name)) for name, tensor in named.items()}


def _collect(tree: Any, prefix: str, found: dict[str, Tensor], seen: set[int], depth: int = 0) -> None:
    """Every tensor below, by dotted name. What is referred to many times is looked at once."""
    if isinstance(tree, Tensor):
        found[prefix] = tree
        return
    if len(found) > MOST_TENSORS or depth > DEEPEST or id(tree) in seen:
        return
    if isinstance(tree, Object):
        _collect(tree.state, prefix, found, seen, depth + 1)
    elif isinstance(tree, Mapping | list | tuple) and not is_optimizer(tree):
        seen.add(id(tree))
        for key, value in tree.items() if isinstance(tree, Mapping) else enumerate(tree):
            _collect(value, f"{prefix}.{key}" if prefix else str(key), found, seen, depth + 1)


def step_in(tree: Any) -> float | None:
    """How many updates the file says were made. Lightning's 'global_step' counts updates; a lone 'step' may too."""
    if not isinstance(tree, Mapping):
        return None
    for name in _STEPS:
        value = _number(tree.get(name))
        if isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MOST_STEP:
            return float(value)
    return None


def settings_in(tree: Any) -> dict[str, Any]:
    """Settings that were saved beside the weights: Lightning's hyper_parameters, a script's args."""
    found: dict[str, Any] = {}
    if isinstance(tree, Mapping):
        for name in _SETTINGS:
            stated = tree.get(name)
            stated = stated.state if isinstance(stated, Object) else stated
            if isinstance(stated, Mapping):
                simple = {key: value for key, value in stated.items() if isinstance(value, str | int | float | bool)}
                found.update({str(key): _number(value) for key, value in simple.items()})
    return found


def _number(value: Any) -> Any:
    """A number that was saved as a tensor, as a number; one that no counter or setting reaches is none."""
    if isinstance(value, Tensor) and value.size == 1:
        return scalar(value)
    return None if isinstance(value, int) and abs(value) > MOST_NUMBER else value
