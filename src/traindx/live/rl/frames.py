"""The variables of the user's functions that are running, read and let go of: tensors whose name has a role, plain
numbers that are settings, and one level of what holds them (`batch["rewards"]`, `rollout.advantages`, `self.gamma`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import CO_OPTIMIZED
from itertools import islice
from types import CodeType, FrameType
from typing import TYPE_CHECKING, Any

import torch

from traindx.live.events.places import outer, place, user_frame, variables
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import entries
from traindx.live.rl.by_graph import is_log_probability
from traindx.live.rl.roles import TELLING, role_of, scalar_of

if TYPE_CHECKING:
    from traindx.live.rl.margins import Margin

MOST_FRAMES = 8  # functions that wait for each other, from the call of `backward` outwards
MOST_NAMES = 400  # variables of one of them
MOST_MEMBERS = 64  # of a container
MOST_NUMBERS = 1 << 18  # of a tensor; a larger one is a model's, or too dear to look at
MOST_LISTED = 4096  # numbers in a list
LEAST_LISTED = 4
PREFERRING = frozenset(("logsigmoid", "LogSigmoid"))  # functions that a margin goes through
_HOLDERS = frozenset((
    "self", "args", "cfg", "config", "hparams", "hp", "batch", "inputs", "data", "rollout", "rollouts", "rollout_data",
    "replay_data", "samples", "sample", "transitions", "transition", "experience", "experiences", "mb", "minibatch",
    "buffer", "rollout_buffer", "memory", "storage", "traj", "trajectory", "agent", "trainer", "model_inputs", "params",
))  # fmt: skip


@dataclass(slots=True)
class Variables:
    """What was found: tensors by role with their names, in the order met (innermost function first), plain settings,
    and modules by the name of their variable. `where` is the line of the innermost function that has any."""

    where: str = ""
    tensors: dict[str, list[tuple[str, torch.Tensor]]] = field(default_factory=dict)
    settings: dict[str, tuple[str, float]] = field(default_factory=dict)
    modules: dict[str, torch.nn.Module] = field(default_factory=dict)
    others: list[tuple[str, torch.Tensor]] = field(default_factory=list)  # tensors of other names
    parts: dict[str, list[torch.Tensor]] = field(default_factory=dict)  # lists of single numbers with a graph, by role
    ids: list[torch.Tensor] = field(default_factory=list)  # tables of whole numbers: tokens
    lists: list[tuple[str, torch.Tensor]] = field(default_factory=list)  # plain numbers in lists of other names
    margin: Margin | None = None  # a pair that the graph shows and no name

    def first(self, role: str) -> torch.Tensor | None:
        found = self.tensors.get(role)
        return found[0][1] if found else None

    def name(self, role: str) -> str:
        found = self.tensors.get(role)
        return found[0][0] if found else ""

    def all(self, *roles: str) -> Iterator[tuple[str, torch.Tensor]]:
        for role in roles:
            yield from self.tensors.get(role, ())

    def setting(self, name: str) -> float | None:
        found = self.settings.get(name)
        return found[1] if found is not None else None

    def merge(self, other: Variables) -> None:
        """Add what another function had; what is known already comes first."""
        self.where = self.where or other.where
        for role, found in other.tensors.items():
            known = self.tensors.setdefault(role, [])
            held = {id(tensor) for _, tensor in known}
            known += [pair for pair in found if id(pair[1]) not in held]
        for name, value in other.settings.items():
            self.settings.setdefault(name, value)
        for name, module in other.modules.items():
            self.modules.setdefault(name, module)
        for role, parts in other.parts.items():
            self.parts.setdefault(role, parts)
        held = {id(tensor) for _, tensor in self.others}
        self.others += [pair for pair in other.others if id(pair[1]) not in held]
        self.ids += other.ids
        self.lists += other.lists


_interesting: dict[CodeType, bool] = {}  # whether a function names anything that tells of a policy


def is_interesting(code: CodeType) -> bool:
    """Whether a function has two variables that only an objective of this kind has, or calls what pairs go through."""
    known = _interesting.get(code)
    if known is None:
        names = (*code.co_varnames, *code.co_names, *code.co_freevars, *code.co_cellvars)[:MOST_NAMES]
        telling = len({role_of(name) for name in names} & TELLING) >= 2
        known = _interesting[code] = telling or not PREFERRING.isdisjoint(names)
    return known


def running(frame: FrameType | None = None) -> Variables:
    """The variables of the functions that are running, from this one outwards; from the innermost of the user's where
    none is named."""
    found = Variables()
    frame = frame or user_frame()
    for _ in range(MOST_FRAMES):
        if frame is None:
            break
        found.merge(variables_of(frame))
        frame = outer(frame)
    return found


def variables_of(frame: FrameType) -> Variables:
    """The variables of one function."""
    found = Variables()
    code = frame.f_code
    for name, value in islice(variables(frame).items(), MOST_NAMES):
        _take(found, name, value)
    if code.co_flags & CO_OPTIMIZED:
        _take_globals(found, code, frame.f_globals)
    if found.tensors or found.settings:
        found.where = place(code.co_filename, frame.f_lineno)
    return found


def _take_globals(found: Variables, code: CodeType, known: Mapping[str, Any]) -> None:
    """Settings of the module that a function uses, and what it keeps in a model of the module: `policy.rewards`."""
    used = code.co_names[:MOST_NAMES]
    for name in used:
        value = known.get(name)
        if scalar_of(name) and value is not None:
            _take(found, name, value)
        elif isinstance(value, torch.nn.Module):
            found.modules.setdefault(name, value)
            kept = vars(value)
            for member in used:
                if member in kept:
                    _take(found, member, kept[member])


def _take(found: Variables, name: str, value: Any, depth: int = 2) -> None:
    if name.startswith("__"):
        return
    if isinstance(value, bool | int | float):
        setting = scalar_of(name)
        if setting and not isinstance(value, bool):
            found.settings.setdefault(setting, (name, float(value)))
    elif isinstance(value, torch.nn.Module):
        found.modules.setdefault(name, value)
        if name == "self" and depth:
            _take_members(found, value, depth)
    elif isinstance(value, list) and value and hasattr(type(value[0]), "_fields"):
        _take_records(found, value)
    elif isinstance(value, torch.Tensor) or role_of(name):
        _take_tensor(found, name, value)
    elif isinstance(value, list) and len(value) >= LEAST_LISTED:
        _take_unnamed(found, name, value)
    elif depth and (name in _HOLDERS or name.endswith(("batch", "data", "buffer", "args", "inputs", "minibatch"))):
        _take_members(found, value, depth)


def _take_records(found: Variables, value: list[Any]) -> None:
    """A list of named tuples, one a step: `SavedAction(log_prob, value)`."""
    for number, name in enumerate(type(value[0])._fields if len(value) <= MOST_LISTED else ()):
        if role_of(name) and all(type(one) is type(value[0]) for one in value):
            _take_tensor(found, name, [one[number] for one in value])


def _take_unnamed(found: Variables, name: str, value: list[Any]) -> None:
    """A list whose name says nothing: plain numbers, or what a policy gave step by step, alone or beside a value."""
    if isinstance(value[0], int | float):
        numbers = as_tensor(value) if len(found.lists) < MOST_MEMBERS else None
        if numbers is not None:
            found.lists.append((name, numbers))
        return
    rows = [one if isinstance(one, tuple) else (one,) for one in value[:MOST_LISTED]]
    for number in range(min(map(len, rows))):
        column = [one[number] for one in rows]
        if "logprob" not in found.parts and _are_graded(column) and is_log_probability(column[0].grad_fn):
            found.parts["logprob"] = column


def _take_tensor(found: Variables, name: str, value: Any) -> None:
    role = role_of(name)
    if isinstance(value, list) and role == "logprob" and _are_graded(value):
        found.parts.setdefault(role, list(value))
        return
    tensor = as_tensor(value)
    if tensor is None:
        return
    if role:
        found.tensors.setdefault(role, []).append((name, tensor))
    elif (tensor.is_floating_point() or tensor.dtype is torch.bool) and len(found.others) < MOST_MEMBERS:
        found.others.append((name, tensor))
    elif tensor.dtype is torch.long and tensor.dim() == 2 and len(found.ids) < MOST_MEMBERS:
        found.ids.append(tensor)


def _are_graded(value: list[Any]) -> bool:
    """A list of single numbers that a policy gave one by one, each with its graph."""
    return 1 < len(value) <= MOST_LISTED and all(
        isinstance(one, torch.Tensor) and one.numel() == 1 and one.grad_fn is not None for one in value
    )


def _take_members(found: Variables, value: Any, depth: int) -> None:
    members: Mapping[Any, Any]
    if isinstance(value, Mapping):
        members = value
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        members = dict(zip(value._fields, value, strict=False))
    elif hasattr(value, "__dict__") and not isinstance(value, type):
        members = vars(value)
        if isinstance(value, torch.nn.Module):
            members = {**members, **value._modules}
    else:
        return
    for name, member in list(entries(members))[: 2 * MOST_MEMBERS]:
        if isinstance(name, str):
            _take(found, name, member, depth - 1)


def as_tensor(value: Any) -> torch.Tensor | None:
    """Numbers of a tensor, of an array or of a list of them, small enough to be looked at; None for anything else."""
    if isinstance(value, torch.Tensor):
        plain = type(value) in (torch.Tensor, torch.nn.Parameter) and value.layout is torch.strided
        return value if plain and value.numel() <= MOST_NUMBERS and watchable(value) else None
    if type(value).__module__ == "numpy" and hasattr(value, "dtype"):
        usable = value.dtype.kind in "fiub" and 0 < value.size <= MOST_NUMBERS
        return torch.from_numpy(value.copy()) if usable and hasattr(value, "ndim") and value.ndim else None
    if isinstance(value, list) and 0 < len(value) <= MOST_LISTED:
        return _from_list(value)
    return None


def _from_list(value: list[Any]) -> torch.Tensor | None:
    if all(isinstance(one, bool | int | float) for one in value):
        return torch.tensor([float(one) for one in value])
    if all(isinstance(one, torch.Tensor) and one.numel() == 1 and one.is_cpu for one in value):
        return torch.tensor([float(one.detach()) for one in value]) if len(value) > 1 else None
    return None
