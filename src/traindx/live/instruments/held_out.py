"""Measures whether what is named after an evaluation holds the samples that are trained on."""

from __future__ import annotations

from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer
from traindx.live.measures.named_results import held_result_of_training
from traindx.live.measures.same_data import key_of
from traindx.live.measures.splits import first_variables, frames, part_of_name
from traindx.live.measures.tensors import wants_gradients
from traindx.measurements import SameData

MAX_LOOKS = 2  # evaluations whose names are looked at
MAX_STATEMENTS = 12  # of the script, of which the names are read
LOADERS = 4  # that are trained on
MAX_MEMBERS = 64  # of a dictionary or an object that holds data under names
CLOSED = (ModuleType, FunctionType, type, str, bytes, int, float)


class HeldOut(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._loader: Any = None
        self._trained: dict[str, str] = {}  # what is trained on, by its key: its name
        self._loaders: set[int] = set()
        self._looks = 0
        self._looked = -1  # after this update
        self._between = False
        self._trains: set[CodeType] = set()  # functions that updates are made in
        self._statements: set[tuple[tuple[CodeType, int], ...]] = set()  # that waited for an evaluation

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._loader = loader

    def on_backward(self, loss: torch.Tensor) -> None:
        loader, self._loader, self._between = self._loader, None, False
        if self.hub.deep:
            self._trains.update(frame.f_code for frame in frames())
        if loader is None or id(loader) in self._loaders or len(self._loaders) >= LOADERS:
            return
        self._loaders.add(id(loader))
        key = key_of(loader)
        if key is not None:
            self._trained[key] = "the training loader"

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._between = True

    def on_models_freed(self) -> None:
        """The next training has data of its own, such as another fold."""
        self._trained, self._loaders, self._looks, self._looked = {}, set(), 0, -1

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not self._between or self.hub.grad or wants_gradients(output):
            return
        if len(self._statements) < MAX_STATEMENTS:
            self._compare_names()
        if self._looks >= MAX_LOOKS or self._looked == self.hub.step:
            return
        self._looks, self._looked = self._looks + 1, self.hub.step
        held: list[tuple[str, str]] = []
        trained = dict(self._trained)
        for name, value in _named():
            part = part_of_name(name)
            key = key_of(value) if part else None
            if key is None:
                continue
            if part == "train":
                trained[key] = name
            else:
                held.append((name, key))
        for name, key in held:
            if key in trained:
                self.hub.measure(SameData(trained=trained[key], held=name, where=name))
                return

    on_sampled_call = on_forward

    def _compare_names(self) -> None:
        """Of each evaluation that the script makes somewhere once."""
        running = frames()
        statements = tuple((frame.f_code, frame.f_lineno) for frame in running[1:])
        if statements in self._statements:
            return
        self._statements.add(statements)
        named = held_result_of_training(running, self._trains)
        if named is not None:
            self.hub.measure(SameData(trained=named.data, held=named.result, computed=True, where=named.where))


def _named() -> Iterator[tuple[str, Any]]:
    """What the user's running functions hold under a name: variables, entries of a dictionary, attributes of `self`."""
    for frame in frames():
        for name, value in first_variables(frame):
            yield name, value
            if type(value) is dict and len(value) <= MAX_MEMBERS:
                yield from ((f"{name}_{key}", one) for key, one in list(value.items()) if type(key) is str)
            elif name == "self" and not issubclass(type(value), CLOSED):
                own = getattr(type(value), "__getattribute__", None) is object.__getattribute__
                yield from list(vars(value).items())[:MAX_MEMBERS] if own and hasattr(value, "__dict__") else ()


OBSERVER = HeldOut
