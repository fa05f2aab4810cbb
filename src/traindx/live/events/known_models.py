"""The models that were seen, known by name without being kept: what the user lets go of must be freed at once.

Observers do hold weights, to compare them with what they were. When the last trained model goes, its weights are looked
at one last time and let go too."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from functools import partial

import torch


class Known:
    """`met` counts every model ever seen. `freed` is called when none of those that can be trained is alive any
    more; where it cannot do its work on the spot it says so by False and is called again by `retry`."""

    def __init__(self, freed: Callable[[], bool]) -> None:
        self.models: weakref.WeakValueDictionary[int, torch.nn.Module] = weakref.WeakValueDictionary()  # by id
        self.met = 0
        self.waiting = False  # the end of the models is still to be announced
        self._freed = freed
        self._closed: dict[int, weakref.ref[torch.nn.Module]] = {}
        self._names: dict[int, tuple[weakref.ref[torch.nn.Module], str]] = {}  # of layers, by id
        self._trainable: dict[int, weakref.ref[torch.nn.Module]] = {}

    def register(self, model: torch.nn.Module) -> None:
        """Know it and its layers. One whose layers cannot be listed, such as one without a hash, stays unknown."""
        closed = self._closed.get(id(model))
        if closed is not None and closed() is model:
            return
        try:
            layers = list(model.named_modules())
        except Exception:
            self._closed[id(model)] = weakref.ref(model)
            return
        self.models[id(model)] = model
        self.met += 1
        prefix = "" if len(self.models) == 1 else f"{type(model).__name__}."
        for name, layer in layers:
            if self._name(layer) is None:
                known = f"{prefix}{name}" if name else type(model).__name__
                self._names[id(layer)] = (weakref.ref(layer, partial(self._forget, id(layer))), known)
        if any(parameter.requires_grad for parameter in model.parameters()):
            self._trainable[id(model)] = weakref.ref(model, partial(self._gone, id(model)))

    def name_of(self, module: torch.nn.Module) -> str:
        return self._name(module) or type(module).__name__

    def clear(self) -> None:
        for held in (self.models, self._closed, self._names, self._trainable):
            held.clear()

    def retry(self) -> None:
        self.waiting = not self._freed()

    def _name(self, module: torch.nn.Module) -> str | None:
        known = self._names.get(id(module))
        return known[1] if known is not None and known[0]() is module else None

    def _forget(self, identity: int, reference: weakref.ref[torch.nn.Module]) -> None:
        known = self._names.get(identity)
        if known is not None and known[0] is reference:
            del self._names[identity]

    def _gone(self, identity: int, reference: weakref.ref[torch.nn.Module]) -> None:
        if self._trainable.get(identity) is reference:
            del self._trainable[identity]
            if not self._trainable:
                # garbage may be collected anywhere; torch is asked for numbers only where the training runs
                self.waiting = True
                if threading.current_thread() is threading.main_thread():
                    self.retry()
