"""A loss as it was computed, ready to be computed again: the calls of whole models as single nodes, and the torch
functions around them, from the data to the tensor that `backward` was called on.

On replay the live model is called, so that its weights and its mode may differ. Data are kept as they were.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import torch

from traindx.errors import TraindxError
from traindx.probes.nested import tensors
from traindx.probes.subject import Outcome, Part, Swap


class Unreplayable(TraindxError):
    """Why a loss cannot be computed again."""


@dataclass(frozen=True, slots=True)
class Value:
    """The tensor at a position of an earlier node's output; position -1 is what a node changed in place."""

    node: int
    position: int


@dataclass(frozen=True, slots=True)
class Constant:
    index: int


@dataclass(frozen=True, slots=True)
class Live:
    """A trained tensor, taken as it is at the time of the replay."""

    tensor: torch.Tensor


@dataclass(slots=True)
class Setting:
    """Under which the call ran: gradients on or off, autocast by device, the random states, the model's buffers."""

    grad: bool
    autocast: tuple[tuple[str, torch.dtype, bool], ...]
    host: torch.Tensor
    cuda: tuple[torch.Tensor, ...]
    buffers: list[tuple[torch.Tensor, torch.Tensor]] = field(default_factory=list)


@dataclass(slots=True)
class Node:
    call: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    setting: Setting
    in_place: bool
    model: bool  # a module with parameters


class Tape(Part):
    """The nodes that a loss needs, and the data they start from."""

    def __init__(
        self, nodes: dict[int, Node], loss: Value, constants: list[torch.Tensor], observed: torch.Tensor
    ) -> None:
        self.nodes = nodes
        self.goal = loss
        self.constants = constants
        self.observed = observed.detach().clone()
        fed = {ref.index for node in nodes.values() if node.model for ref in _constants(node)}
        other = {ref.index for node in nodes.values() for ref in _constants(node)} - fed
        self._fed, self._aimed = sorted(fed), sorted(other)
        self._differentiates = any(node.call is torch.autograd.grad for node in nodes.values())
        self.data = tuple(constants[index] for index in self._fed)
        self.targets = tuple(constants[index] for index in self._aimed)

    @property
    def models(self) -> list[torch.nn.Module]:
        return [node.call for node in self.nodes.values() if node.model and isinstance(node.call, torch.nn.Module)]

    @property
    def live(self) -> list[torch.Tensor]:
        """Trained tensors that are used outside of models."""
        found: list[torch.Tensor] = []
        for node in self.nodes.values():
            found += [ref.tensor for ref in refs(node) if isinstance(ref, Live)]
        return found

    def run(
        self, swap: Swap | None = None, same_noise: bool = True, targets: Swap | None = None, *, buffers: bool = False
    ) -> Outcome:
        values: dict[Value, torch.Tensor] = {}
        data = self._fresh_data(swap, targets)
        outputs: list[torch.Tensor] = []

        def resolve(ref: Any) -> Any:
            if isinstance(ref, Value):
                return values[ref]
            if isinstance(ref, Constant):
                return data[ref.index]
            return ref.tensor if isinstance(ref, Live) else ref

        # a loss that holds a gradient needs its graph even where the caller wants none
        graph = torch.enable_grad() if self._differentiates else nullcontext()
        with graph, _eager():
            self._replay(resolve, values, outputs, same_noise, buffers)
        return Outcome(values[self.goal], tuple(outputs))

    def _replay(
        self, resolve: Callable[[Any], Any], values: dict[Value, torch.Tensor], outputs: list[torch.Tensor],
        same_noise: bool, buffers: bool,
    ) -> None:  # fmt: skip
        for index, node in self.nodes.items():
            args, kwargs = (_resolve(part, resolve) for part in (node.args, node.kwargs))
            with _under(node.setting, same_noise, buffers):
                result = node.call(*args, **kwargs)
            for position, tensor in enumerate(tensors(result)):
                values[Value(index, position)] = tensor
            if node.in_place:
                values[Value(index, -1)] = args[0]
            if node.model:
                outputs += [t for t in tensors(result) if t.is_floating_point()][:1]

    def forget_buffers(self) -> None:
        """They are only needed to check the tape against the loss it was cut from."""
        for node in self.nodes.values():
            node.setting.buffers.clear()

    def _fresh_data(self, swap: Swap | None, targets: Swap | None) -> list[torch.Tensor]:
        changes = {**dict.fromkeys(self._fed, swap), **dict.fromkeys(self._aimed, targets)}
        changed = {ref.index for node in self.nodes.values() if node.in_place for ref in _constants(node)}
        data: list[torch.Tensor] = []
        for index, kept in enumerate(self.constants):
            change = changes.get(index)
            value = kept if change is None else change(kept)
            data.append(value.clone() if index in changed else value)
        return data


@contextmanager
def _under(setting: Setting, same_noise: bool, buffers: bool) -> Iterator[None]:
    """The circumstances of the original call. Gradients that the user turned off stay off; a caller may turn them off
    too."""
    if same_noise:
        torch.set_rng_state(setting.host)
        if setting.cuda:
            torch.cuda.set_rng_state_all(setting.cuda)
    if buffers:
        with torch.no_grad():
            for buffer, value in setting.buffers:
                buffer.data.copy_(value)
    with torch.set_grad_enabled(setting.grad and torch.is_grad_enabled()), ExitStack() as stack:
        for device, dtype, on in setting.autocast:
            if on:
                stack.enter_context(torch.autocast(device, dtype))
        yield


_EAGER = ContextVar("_EAGER", default=True)


@contextmanager
def uncompiled(wanted: bool) -> Iterator[None]:
    """Whether replays inside run uncompiled, as they do otherwise."""
    token = _EAGER.set(wanted)
    try:
        yield
    finally:
        _EAGER.reset(token)


@contextmanager
def _eager() -> Iterator[None]:
    """Parts of the model that are compiled run as they are written, so that one can look into them."""
    if "torch._dynamo" not in sys.modules or not _EAGER.get():
        yield
        return
    with torch.compiler.set_stance("force_eager"):
        yield


def refs(node: Node) -> Iterator[Any]:
    yield from _found_refs((node.args, node.kwargs))


def _constants(node: Node) -> list[Constant]:
    return [ref for ref in refs(node) if isinstance(ref, Constant)]


def _found_refs(value: Any) -> Iterator[Any]:
    if isinstance(value, Value | Constant | Live):
        yield value
    elif isinstance(value, tuple | list):
        for member in value:
            yield from _found_refs(member)
    elif isinstance(value, dict):
        for member in value.values():
            yield from _found_refs(member)
    elif isinstance(value, slice):
        yield from _found_refs((value.start, value.stop, value.step))


def _resolve(value: Any, resolve: Callable[[Any], Any]) -> Any:
    """The inverse of `exchange`: references become tensors again."""
    if isinstance(value, Value | Constant | Live):
        return resolve(value)
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*(_resolve(member, resolve) for member in value))
    if type(value) in (tuple, list):
        return type(value)(_resolve(member, resolve) for member in value)
    if type(value) is dict:
        return {key: _resolve(member, resolve) for key, member in value.items()}
    if isinstance(value, slice):
        return slice(*(_resolve(end, resolve) for end in (value.start, value.stop, value.step)))
    return value
