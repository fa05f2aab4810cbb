"""Which parameter a moment belongs to. Optimisers number their parameters; names are found by order and shape, and only
where there is no doubt."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from traindx.checkpoints.parts import Group, OptimizerState, natural
from traindx.checkpoints.tensor import Tensor

BUFFER = re.compile(r"(running_mean|running_var|num_batches_tracked|inv_freq|position_ids|masked_bias)$")
_NO_DECAY = re.compile(r"bias$|norm|(^|[._])(ln|bn)[._\d]", re.IGNORECASE)
_NUMBER = re.compile(r"\d+")
# Matrices of one shape within a block, in the order in which models define them. Where the output is called out_proj
# (BART, OPT, CLIP) the order differs between models, so that those stay unnamed.
_DEFINED = (
    ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"),
    ("self.query", "self.key", "self.value", "attention.output.dense"),
    ("attention.query", "attention.key", "attention.value", "attention.output.dense"),
)  # fmt: skip
_FIRST, _LAST = re.compile(r"embed|wte|wpe"), re.compile(r"(^|\.)(lm_head|head|classifier|score)\.")


def owners(optimizer: OptimizerState, group: Group, weights: Mapping[str, Tensor], ordered: bool) -> dict[Any, str]:
    """Index → name for one group. Optimisers keep parameters in the order they were given; where the file keeps the
    model's order (`ordered`) the shapes line up with the weights, and a match counts if it is the only one possible."""
    if group.names is not None and all(name in weights for name in group.names):
        return dict(zip(group.indices, group.names, strict=False))
    if group.indices and all(isinstance(index, str) and index in weights for index in group.indices):
        return {index: index for index in group.indices}
    shapes = [_shape(optimizer.state.get(index)) for index in group.indices]
    names = parameters(weights)
    several = len(optimizer.groups) > 1
    # trainers split parameters into those with weight decay and those without: by name, or by dimension
    halves = [[name for name in names if bool(_NO_DECAY.search(name)) == small] for small in (False, True)]
    halves += [[name for name in names if (len(weights[name].shape) < 2) == small] for small in (False, True)]
    for candidates in [*halves, names] if several else [names]:
        if ordered:
            matched = _only_match(shapes, [weights[name].shape for name in candidates])
            if matched is not None:
                return {index: candidates[place] for index, place in zip(group.indices, matched, strict=True)}
        elif sorted(map(str, shapes)) == sorted(str(weights[name].shape) for name in candidates):
            return _by_shape(group.indices, shapes, {name: weights[name].shape for name in candidates})
    return {index: unnamed(index) for index in group.indices}


def unnamed(index: Any) -> str:
    return f"parameter {index} of the optimiser"


def _by_shape(
    indices: Sequence[Any], shapes: Sequence[tuple[int, ...] | None], known: Mapping[str, tuple[int, ...]]
) -> dict[Any, str]:
    """Names without their order: those of one shape are told apart where they differ only in the number of their layer,
    or where it is known in which order a block defines them."""
    found = {index: unnamed(index) for index in indices}
    for shape in set(shapes):
        members = [index for index, other in zip(indices, shapes, strict=True) if other == shape]
        names = _in_model_order([name for name, other in known.items() if other == shape])
        if names is not None:
            found |= dict(zip(members, names, strict=True))
    return found


def _in_model_order(names: list[str]) -> list[str] | None:
    middle = [name for name in names if not _FIRST.search(name) and not _LAST.search(name)]
    ends = [[name for name in names if pattern.search(name)] for pattern in (_FIRST, _LAST)]
    kinds = {_NUMBER.sub("#", name) for name in middle}
    if any(len(end) > 1 for end in ends):
        return None
    if len(kinds) <= 1:
        return [*ends[0], *sorted(middle, key=natural), *ends[1]]
    for order in _DEFINED:
        ranks = {name: [place for place, part in enumerate(order) if f".{part}." in name] for name in middle}
        if all(len(found) == 1 for found in ranks.values()) and len({ranks[name][0] for name in middle}) == len(kinds):
            layer = {name: tuple(map(int, _NUMBER.findall(name))) for name in middle}
            return [*ends[0], *sorted(middle, key=lambda name: (layer[name], ranks[name])), *ends[1]]
    return None


def parameters(weights: Mapping[str, Tensor]) -> list[str]:
    """The names that are parameters, in order: no buffers, no integers, and of tied weights only the first."""
    seen: set[tuple[str, int]] = set()
    names: list[str] = []
    for name, tensor in weights.items():
        if not tensor.floating or BUFFER.search(name) or (tensor.storage is not None and tensor.storage in seen):
            continue
        if tensor.storage is not None:
            seen.add(tensor.storage)
        names.append(name)
    return names


def _only_match(shapes: Sequence[tuple[int, ...] | None], known: Sequence[tuple[int, ...]]) -> list[int] | None:
    """The places of `shapes` within `known`, in order, if there is exactly one way to lay them: the way that takes
    every first chance and the one that takes every last chance agree. A parameter without state fits anything."""
    if not shapes or len(shapes) > len(known):
        return None
    if len(shapes) == len(known):
        fits = all(shape is None or shape == other for shape, other in zip(shapes, known, strict=True))
        return list(range(len(known))) if fits else None
    if any(shape is None for shape in shapes):
        return None
    first = _greedy(shapes, known)
    last = _greedy(shapes[::-1], known[::-1])
    if first is None or last is None:
        return None
    return first if first == [len(known) - 1 - place for place in last[::-1]] else None


def _greedy(shapes: Sequence[tuple[int, ...] | None], known: Sequence[tuple[int, ...]]) -> list[int] | None:
    places: list[int] = []
    start = 0
    for shape in shapes:
        place = next((place for place in range(start, len(known)) if known[place] == shape), None)
        if place is None:
            return None
        places.append(place)
        start = place + 1
    return places


def _shape(state: Mapping[str, Any] | None) -> tuple[int, ...] | None:
    tensors = [value for key, value in (state or {}).items() if isinstance(value, Tensor) and key != "step"]
    return tensors[0].shape if tensors else None
