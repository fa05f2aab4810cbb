"""Remembers what went into the last activation, so that a treatment can do without it.

A view of an activation's result shares its memory: whatever reshapes the script does afterwards, the two are
recognised."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.live.events.hub import Hub

SQUASHING = ("sigmoid", "tanh", "relu", "softmax", "log_softmax")


def patch_function(hub: Hub, name: str, around: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Wrap a function of torch under all the names it goes by: torch.relu, F.relu, Tensor.relu."""
    for owner in (torch, torch.nn.functional):
        if hasattr(owner, name):
            hub.patch(owner, name, around)
    original = getattr(torch.Tensor, name, None)
    if original is not None:
        setattr(torch.Tensor, name, around(original))
        hub.patches.add(lambda: delattr(torch.Tensor, name))


class Memory:
    """The input and the result of the last activation."""

    def __init__(self, hub: Hub, names: tuple[str, ...] = SQUASHING) -> None:
        self._hub = hub
        self._name = ""
        self._input: torch.Tensor | None = None
        self._output: torch.Tensor | None = None
        for name in names:
            patch_function(hub, name, partial(self._around, name))

    def _around(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def activation(input: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            kwargs.pop("inplace", None)  # it would overwrite what must be remembered
            if name == "relu":
                args = ()
            output = original(input, *args, **kwargs)
            if isinstance(output, torch.Tensor) and not self._hub.inside:
                self._name, self._input, self._output = name, input, output
            return output

        return activation

    def before(self, tensor: Any, names: tuple[str, ...] = SQUASHING) -> torch.Tensor | None:
        """What this tensor was before the last activation, in its present shape; None where it is none of that
        one's."""
        output, given = self._output, self._input
        if not isinstance(tensor, torch.Tensor) or output is None or given is None or self._name not in names:
            return None
        same = tensor.untyped_storage().data_ptr() == output.untyped_storage().data_ptr()
        if not same or tensor.numel() != output.numel() or given.shape != output.shape:
            return None
        return given.reshape(tensor.shape) if tensor.is_contiguous() else None

    def forget(self) -> None:
        self._input = self._output = None
