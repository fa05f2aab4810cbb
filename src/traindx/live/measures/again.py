"""Calling a model of the user's once more, with other inputs, and putting back everything that the call may change."""

from __future__ import annotations

import contextlib
import copy
import random
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from traindx.live.measures.rows import odd_stride
from traindx.live.measures.tensors import entries

MAX_WIDTH = 512  # numbers of a token that are kept: scores of a large vocabulary would fill the memory of a GPU
OWN = frozenset(vars(torch.nn.Module()))  # what torch keeps in a module: its parameters, buffers, parts and hooks


class _Unheard:
    """Standard output without what this thread prints."""

    def __init__(self) -> None:
        self._stream, self._thread = sys.stdout, threading.get_ident()

    def write(self, text: str) -> int:
        return len(text) if threading.get_ident() == self._thread else self._stream.write(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def states_of(model: torch.nn.Module, args: Any, kwargs: Any, tokens: torch.Tensor) -> torch.Tensor | None:
    """The last layer's output with one row for each token, from a call of the model; of wide rows some columns."""
    found: list[torch.Tensor] = []

    def keep(module: torch.nn.Module, inputs: Any, output: Any) -> None:
        if (
            isinstance(output, torch.Tensor)
            and output.dim() == 3
            and output.shape[:2] == tokens.shape
            and output.is_floating_point()
        ):
            found[:] = [output]

    handle = torch_module.register_module_forward_hook(keep)
    try:
        model(*args, **kwargs)
    finally:
        handle.remove()
    return found[0].detach()[..., :: odd_stride(found[0].shape[-1], MAX_WIDTH)].clone() if found else None


def exchanged(value: Any, old: torch.Tensor, new: torch.Tensor) -> Any:
    """The same arguments with one tensor exchanged, wherever it stands."""
    if isinstance(value, torch.Tensor):
        return new if value.data_ptr() == old.data_ptr() and value.shape == old.shape else value
    return each(value, lambda member: exchanged(member, old, new))


def each(value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, dict):
        return {key: change(member) for key, member in entries(value)}
    return type(value)(change(member) for member in value) if type(value) in (tuple, list) else value


@contextlib.contextmanager
def untouched(model: torch.nn.Module) -> Iterator[None]:
    """Puts back, afterwards, everything a call of the model may change; what it prints meanwhile is not heard."""
    modules = list(model.modules())
    attributes = [dict(module.__dict__) for module in modules]
    kept = [
        (held, copy.copy(held))
        for each_held in attributes
        for name, held in each_held.items()
        if type(held) in (list, dict, set) and name not in OWN
    ]
    buffers = [dict(module._buffers) for module in modules]
    values = [(buffer, buffer.clone()) for held in buffers for buffer in held.values() if buffer is not None]
    numpy = sys.modules.get("numpy")
    numpy_state = numpy.random.get_state() if numpy is not None else None
    python_state = random.getstate()
    state = torch.get_rng_state()
    cuda = torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    cuda_states = torch.cuda.get_rng_state_all() if cuda else []
    for module in modules:
        module.training = False
    try:
        # a model that cannot be called again is left alone
        with contextlib.suppress(Exception), torch.no_grad(), contextlib.redirect_stdout(_Unheard()):
            yield
    finally:
        for module, held, named in zip(modules, attributes, buffers, strict=True):
            module.__dict__.clear()
            module.__dict__.update(held)
            module._buffers.clear()
            module._buffers.update(named)
        for held, before in kept:
            held.clear()
            held.extend(before) if isinstance(held, list) else held.update(before)
        for buffer, value in values:
            buffer.copy_(value)
        torch.set_rng_state(state)
        if cuda:
            torch.cuda.set_rng_state_all(cuda_states)
        random.setstate(python_state)
        if numpy is not None:
            numpy.random.set_state(numpy_state)
