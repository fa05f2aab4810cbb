"""The whole state of a training after one of its updates: weights, buffers, gradients, optimisers, schedules, loss
scalers and random numbers, kept in a file that is read without executing anything in it.

What there is is found among the objects that are alive, so that nothing has to be given: an average of the weights that
a script keeps in a second model is a model like any other. What a script keeps in variables of its own is not found.
"""

from __future__ import annotations

import gc
import os
import random
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar
from weakref import ref

import torch
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from traindx.errors import TraindxError
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_every_step

SCHEMA = "traindx.state/1"
Kind = TypeVar("Kind")
State = dict[str, Any]
_LEAVES = (bool, int, float, str, type(None), torch.Tensor)


class Met:
    """The optimisers of a training in the order of their first updates."""

    def __init__(self) -> None:
        self._known: list[ref[Optimizer]] = []

    def register(self, optimizer: Optimizer) -> None:
        if all(one() is not optimizer for one in self._known):
            self._known.append(ref(optimizer))

    def alive(self) -> list[Optimizer]:
        return [optimizer for one in self._known if (optimizer := one()) is not None]


class Keeper(Observer):
    """Keeps the state after update number `at` in the file `to`."""

    def __init__(self, hub: Hub, at: int, to: Path) -> None:
        super().__init__(hub)
        self.at, self.to, self.met = at, to, Met()

    @on_every_step
    def on_updated(self, optimizer: Optimizer) -> None:
        if self.hub.step < self.at:
            self.met.register(optimizer)
        if self.hub.step + 1 == self.at:
            state = snapshot(self.met.alive(), self.at)
            if is_finite(state):
                save(state, self.to)
            else:
                self.hub.warn(f"no state was kept after update {self.at}: weights are not finite any more")


def snapshot(optimizers: Sequence[Optimizer], step: int) -> State:
    trained = _places(optimizers)
    modules = [(_key(module, trained), _tensors(module)) for module in _roots()]
    inside = {id(tensor) for _, tensors in modules for tensor in tensors.values()}
    return {
        "schema": SCHEMA,
        "step": step,
        "modules": [[key, {name: tensor.detach() for name, tensor in tensors.items()}] for key, tensors in modules],
        "optimizers": [
            {
                "name": type(optimizer).__qualname__, "state": _plain(optimizer.state_dict()),
                "loose": [None if id(p) in inside else p.detach() for p in _parameters(optimizer)],
                "grads": [p.grad for p in _parameters(optimizer)],
            }
            for optimizer in optimizers
        ],
        "schedules": [[_owner(one, optimizers), _plain(one.state_dict())] for one in _alive(LRScheduler)],
        "scalers": [_plain(one.state_dict()) for one in _alive(torch.amp.GradScaler)],
        "random": _random(),
    }  # fmt: skip


def save(state: State, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    torch.save(state, part)
    os.replace(part, path)


def load(path: Path) -> State:
    """A state that was kept; refused where it is none."""
    try:
        state = torch.load(path, map_location="cpu", weights_only=True)
    except Exception as error:  # torch raises what the damage happens to lead to
        raise TraindxError(
            f"{path} cannot be read as the state of a training ({type(error).__name__}).",
            "Make a recording with one: traindx run --checkpoint N train.py",
        ) from error
    if not isinstance(state, dict) or state.get("schema") != SCHEMA:
        raise TraindxError(
            f"{path} is no state kept by this version of traindx.", "Make it anew: traindx run --checkpoint N train.py"
        )
    return state


def is_finite(state: State) -> bool:
    tensors = [tensor for _, tensors in state["modules"] for tensor in tensors.values()]
    return all(bool(torch.isfinite(tensor).all()) for tensor in tensors if tensor.is_floating_point())


@torch.no_grad()
def restore_weights(state: State, optimizers: Sequence[Optimizer]) -> None:
    """Weights and buffers alone."""
    trained = _places(optimizers)
    waiting: dict[str, list[torch.nn.Module]] = {}
    for module in _roots():
        waiting.setdefault(_key(module, trained), []).append(module)
    for key, saved in state["modules"]:
        if not waiting.get(key):
            raise TraindxError(
                "The script builds other models than when its state was kept.", "Keep it anew from this version of it."
            )
        for name, tensor in _tensors(waiting[key].pop(0)).items():
            tensor.copy_(saved[name])
    for optimizer, kept in zip(optimizers, state["optimizers"], strict=False):
        for parameter, value in zip(_parameters(optimizer), kept["loose"], strict=True):
            if value is not None:
                parameter.copy_(value)


@torch.no_grad()
def restore(state: State, optimizers: Sequence[Optimizer]) -> None:
    """Everything, in place: the script's own objects go on as those that were kept."""
    if [type(one).__qualname__ for one in optimizers] != [kept["name"] for kept in state["optimizers"]]:
        raise TraindxError(
            "The script makes other optimisers than when its state was kept.", "Keep it anew from this version of it."
        )
    restore_weights(state, optimizers)
    for optimizer, kept in zip(optimizers, state["optimizers"], strict=True):
        optimizer.load_state_dict(kept["state"])
        for parameter, grad in zip(_parameters(optimizer), kept["grads"], strict=True):
            parameter.grad = None if grad is None else grad.to(parameter.device, copy=True)
    waiting: dict[str, list[LRScheduler]] = {}
    for one in _alive(LRScheduler):
        waiting.setdefault(_owner(one, optimizers), []).append(one)
    for key, saved in state["schedules"]:
        if waiting.get(key):
            waiting[key].pop(0).load_state_dict(dict(saved))
    for scaler, saved in zip(_alive(torch.amp.GradScaler), state["scalers"], strict=False):
        if saved:
            scaler.load_state_dict(saved)
    _set_random(state["random"])


def same_random_numbers(state: State) -> bool:
    """Whether as many random numbers were drawn as when the state was kept: data are in the same order then."""
    return torch.equal(torch.get_rng_state(), state["random"]["torch"])


def _alive(kind: type[Kind]) -> list[Kind]:
    """By type and not by `isinstance`, which proxies answer by loading what they stand for."""
    return [one for one in gc.get_objects() if issubclass(type(one), kind)]


def _roots() -> list[torch.nn.Module]:
    """Models with something to keep that are no part of another one."""
    found = _alive(torch.nn.Module)
    parts = {id(child) for module in found for child in module.children()}
    return [module for module in found if id(module) not in parts and _tensors(module)]


def _tensors(module: torch.nn.Module) -> dict[str, torch.Tensor]:
    return {**dict(module.named_parameters()), **dict(module.named_buffers())}


def _parameters(optimizer: Optimizer) -> list[torch.Tensor]:
    return [parameter for group in optimizer.param_groups for parameter in group["params"]]


def _places(optimizers: Iterable[Optimizer]) -> dict[int, str]:
    return {id(p): f"{i}.{j}" for i, one in enumerate(optimizers) for j, p in enumerate(_parameters(one))}


def _key(module: torch.nn.Module, trained: Mapping[int, str]) -> str:
    """What tells a model from others: its class, its shapes, and which optimiser trains it."""
    tensors = _tensors(module)
    first = next((trained[id(tensor)] for tensor in tensors.values() if id(tensor) in trained), "-")
    shapes = ", ".join(f"{name}{list(tensor.shape)}" for name, tensor in tensors.items())
    return f"{type(module).__qualname__} {first} {shapes}"


def _owner(schedule: LRScheduler, optimizers: Sequence[Optimizer]) -> str:
    place = next((str(i) for i, one in enumerate(optimizers) if one is getattr(schedule, "optimizer", None)), "-")
    return f"{type(schedule).__qualname__} {place}"


def _plain(value: Any) -> Any:
    """Numbers, texts, tensors and collections of them; what is left out of a dictionary stays in the script as it
    is."""
    if isinstance(value, dict):
        return {key: _plain(one) for key, one in value.items() if _is_plain(one)}
    if isinstance(value, list | tuple):
        return type(value)(map(_plain, value)) if type(value) in (list, tuple) else list(map(_plain, value))
    return value


def _is_plain(value: Any) -> bool:
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return type(value) is dict or isinstance(value, _LEAVES)


def _random() -> State:
    numpy = sys.modules.get("numpy")
    drawn = None if numpy is None else numpy.random.get_state()
    used = torch.cuda.is_available() and torch.cuda.is_initialized()  # type: ignore[no-untyped-call]
    return {
        "torch": torch.get_rng_state(), "cuda": torch.cuda.get_rng_state_all() if used else [],
        "python": random.getstate(),
        "numpy": None if drawn is None else [drawn[0], drawn[1].tolist(), *map(float, drawn[2:])],
    }  # fmt: skip


def _set_random(saved: State) -> None:
    torch.set_rng_state(saved["torch"])
    if saved["cuda"]:
        torch.cuda.set_rng_state_all(saved["cuda"])
    random.setstate(saved["python"])
    numpy = sys.modules.get("numpy")
    if numpy is not None and saved["numpy"] is not None:
        name, keys, place, held, left = saved["numpy"]
        numpy.random.set_state((name, numpy.array(keys, dtype=numpy.uint32), int(place), int(held), left))
