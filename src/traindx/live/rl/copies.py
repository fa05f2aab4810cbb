"""Networks that give targets: whether they follow the network they are a copy of."""

from __future__ import annotations

import weakref
from collections.abc import Collection
from typing import TYPE_CHECKING

import torch

from traindx.live.measures.rows import watchable
from traindx.live.rl.frames import Variables
from traindx.live.rl.roles import words_of
from traindx.live.rl.tracking import Track
from traindx.measurements import TargetNetwork

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub

MOST_PAIRS = 4
WEIGHTS = 6  # of each network that are compared
SAMPLE = 512  # numbers of each
TARGET = frozenset(("target", "tgt", "targ", "frozen", "ema"))


class _Pair:
    """A target and the network it copies."""

    def __init__(self, target: torch.nn.Module, online: torch.nn.Module, online_name: str, step: int) -> None:
        self.target, self.online = weakref.ref(target), weakref.ref(online)
        self.online_name = online_name
        self.first_step = step
        self.start = _sample(online)
        self.before = _sample(target)
        self.looks = self.moved = self.equal = 0
        self.distance = Track()


class Copies:
    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._pairs: dict[str, _Pair] = {}

    def clear(self) -> None:
        self._pairs.clear()

    def look(self, found: Variables, optimizer: torch.optim.Optimizer, asked: Collection[torch.nn.Module] = ()) -> None:
        """Just before an update of this optimiser. `asked` are networks that gave numbers without a gradient: one of
        them is a target by another name, if the optimiser has a network of the same shapes and not this one."""
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        for name, target in found.modules.items():
            unnamed = target in asked and not any(id(p) in held for p in target.parameters())
            if unnamed or TARGET & set(words_of(name)):
                self._look_at(name, target, found, held)

    def finish(self) -> None:
        """The last look, which tells how many updates went by."""
        for name, pair in self._pairs.items():
            target, online = pair.target(), pair.online()
            if target is not None and online is not None:
                self._compare(name, pair, target, online)

    def _look_at(self, name: str, target: torch.nn.Module, found: Variables, held: set[int]) -> None:
        pair = self._pairs.get(name)
        if pair is None or pair.target() is not target or pair.online() is None:
            named = _online(name, target, found, held)
            if named is None or len(self._pairs) >= MOST_PAIRS:
                return
            pair = self._pairs[name] = _Pair(target, named[1], named[0], self._hub.step)
        online = pair.online()
        if online is None or not any(id(p) in held for p in online.parameters()):
            return
        self._compare(name, pair, target, online)

    def _compare(self, name: str, pair: _Pair, target: torch.nn.Module, online: torch.nn.Module) -> None:
        now, copied = _sample(online), _sample(target)
        pair.looks += 1
        pair.moved += not torch.equal(copied, pair.before)
        pair.equal += torch.equal(copied, now)
        pair.before = copied
        size = max(float(now.norm()), 1e-12)
        shared = {id(p) for p in target.parameters()} == {id(p) for p in online.parameters()}
        self._hub.measure(
            TargetNetwork(
                online=pair.online_name, looks=pair.looks, updates=self._hub.step - pair.first_step, moved=pair.moved,
                equal=pair.equal, shared=shared, distance=float((now - copied).norm()) / size,
                drift=float((now - pair.start).norm()) / size, where=name,
            )
        )  # fmt: skip


def _online(name: str, target: torch.nn.Module, found: Variables, held: set[int]) -> tuple[str, torch.nn.Module] | None:
    """The module of the same shapes whose name is nearest: 'qf1_target' → 'qf1'. Of a target by another name one that
    is updated now."""
    called = bool(TARGET & set(words_of(name)))
    shapes = [p.shape for p in target.parameters()]
    words = set(words_of(name)) - TARGET
    alike = [
        (len(words ^ set(words_of(other))), other, module) for other, module in found.modules.items()
        if other != name and not TARGET & set(words_of(other)) and [p.shape for p in module.parameters()] == shapes
        and (called or all(id(p) in held for p in module.parameters()))
    ]  # fmt: skip
    nearest = min(alike, key=lambda one: one[0], default=None)
    return (nearest[1], nearest[2]) if nearest is not None and shapes else None


def _sample(module: torch.nn.Module) -> torch.Tensor:
    """Some numbers of the first and the last weights."""
    weights = [p for p in module.parameters() if watchable(p)]
    chosen = weights[: WEIGHTS // 2] + weights[WEIGHTS // 2 :][-(WEIGHTS // 2) :]
    few = [p.detach().reshape(-1)[:SAMPLE].float() for p in chosen]
    return torch.cat(few).cpu().clone() if few else torch.zeros(0)
