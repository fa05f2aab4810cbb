"""Which parameters a script has loaded, and which it meant to: those of a module that was given a state dict without
them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping
from typing import Any

import torch

from traindx.live.events.hub import Hub, user_line
from traindx.live.events.instrument import Observer
from traindx.live.measures.rows import watchable


class Loads:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self.loaded = False  # something was, by torch.load or load_state_dict
        self.where = ""  # file:line of the last call that missed some
        self._missed: dict[int, weakref.ref[torch.nn.Parameter]] = {}
        self._found: dict[int, weakref.ref[torch.nn.Parameter]] = {}

    def attach(self, observer: Observer) -> None:
        def around(original: Callable[..., Any]) -> Callable[..., Any]:
            def load_state_dict(module: torch.nn.Module, *args: Any, **kwargs: Any) -> Any:
                self.loaded = self.loaded or not self._hub.inside
                given = args[0] if args else kwargs.get("state_dict")
                as_they_were: list[str] = []
                self._hub.guard(observer, _note_own, module, given, as_they_were)
                keys = original(module, *args, **kwargs)
                self._hub.guard(observer, self._take, module, keys, as_they_were)
                return keys

            return load_state_dict

        self._hub.patch(torch.nn.Module, "load_state_dict", around)
        self._hub.patch(torch, "load", self._around_load)

    def missed(self, parameter: torch.nn.Parameter) -> bool:
        """A state dict was given to a module with this parameter in it, and none that was given held it."""
        return _holds(self._missed, parameter) and not _holds(self._found, parameter)

    def _around_load(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def load(*args: Any, **kwargs: Any) -> Any:
            self.loaded = self.loaded or not self._hub.inside
            return original(*args, **kwargs)

        return load

    def _take(self, module: torch.nn.Module, keys: Any, as_they_were: list[str]) -> None:
        missing = {*getattr(keys, "missing_keys", ()), *as_they_were}
        for name, parameter in module.named_parameters():
            held = self._missed if name in missing else self._found
            held[id(parameter)] = weakref.ref(parameter)
        if missing:
            self.where = user_line()


def _note_own(module: torch.nn.Module, given: Any, names: list[str]) -> None:
    """Names of parameters that a state dict holds themselves: it is the module's own with some of them replaced."""
    if isinstance(given, Mapping):
        for name, parameter in module.named_parameters():
            value = given.get(name)
            if isinstance(value, torch.Tensor) and _same_place(value, parameter):
                names.append(name)


def _same_place(one: torch.Tensor, other: torch.Tensor) -> bool:
    return watchable(one) and watchable(other) and one.data_ptr() == other.data_ptr()


def _holds(held: dict[int, weakref.ref[torch.nn.Parameter]], parameter: torch.nn.Parameter) -> bool:
    reference = held.get(id(parameter))
    return reference is not None and reference() is parameter
