"""Variables of functions that compute an objective and have returned before `backward` is called on it.

Such a function takes a mean or a sum at its end. On deep steps these two methods of tensors are watched, and where
the function that calls them names parts of an objective, its variables are noted until the next update."""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING, Any

import torch

from traindx.live.events.places import caller
from traindx.live.rl.frames import Variables, is_interesting, variables_of

if TYPE_CHECKING:
    from traindx.live.events.hub import Hub
    from traindx.live.events.instrument import Observer

REDUCTIONS = ("mean", "sum")
MOST_NOTED = 8  # functions between two updates
MOST_TIMES = 24  # notes of one function between two updates: a loop over samples calls more often


class Collecting:
    """`noted` holds the variables of each function, as they were at its last reduction."""

    def __init__(self, hub: Hub, observer: Observer) -> None:
        self._hub = hub
        self._observer = observer
        self._noted: dict[CodeType, tuple[int, Variables]] = {}
        self._replaced: dict[str, tuple[Any, Any, bool]] = {}  # name → the original, ours, and whether it was Tensor's

    def watch(self) -> None:
        if self._replaced or self._hub.ended:
            return
        for name in REDUCTIONS:
            original = getattr(torch.Tensor, name)
            ours = self._around(original)
            self._replaced[name] = (original, ours, name in vars(torch.Tensor))
            setattr(torch.Tensor, name, ours)

    def rest(self) -> None:
        """Put the methods back, and forget what was noted."""
        for name, (original, ours, own) in self._replaced.items():
            if vars(torch.Tensor).get(name) is ours:
                if own:
                    setattr(torch.Tensor, name, original)
                else:
                    delattr(torch.Tensor, name)
        self._replaced.clear()
        self._noted.clear()

    def forget(self) -> None:
        self._noted.clear()

    def noted(self) -> list[Variables]:
        return [variables for _, variables in self._noted.values()]

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        hub = self._hub

        @functools.wraps(original)
        def reduce(tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
            result = original(tensor, *args, **kwargs)
            if not hub.inside and torch.is_grad_enabled() and isinstance(result, torch.Tensor):
                frame = caller()
                if self._wants(frame.f_code) and not torch.compiler.is_compiling():
                    hub.guard(self._observer, self._note, frame, result)
            return result

        return reduce

    def _wants(self, code: CodeType) -> bool:
        """Whether the variables of this function are still to be noted: asked at every reduction, so before anything
        is reported."""
        times, before = self._noted.get(code, (0, None))
        if times >= MOST_TIMES or (before is None and len(self._noted) >= MOST_NOTED):
            return False
        return is_interesting(code)

    def _note(self, frame: Any, result: torch.Tensor) -> None:
        if not result.requires_grad:
            return
        times, _ = self._noted.get(frame.f_code, (0, None))
        self._noted[frame.f_code] = (times + 1, variables_of(frame))
