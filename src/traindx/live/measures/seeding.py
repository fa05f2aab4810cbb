"""Counts how often the training script draws the same random numbers again, and where: by a seed that it sets again, or
by a generator of its own that is as it was at the draw before."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.places import user_line
from traindx.live.host.modes import outside_modes

MAX_LINES = 16  # that set seeds
_DRAWS = ("randint", "randperm", "rand", "randn", "multinomial")


class Seeding:
    """Calls after the first update, by line. A seed that differs from the one before, as `seed + epoch`, does not
    count."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._lines: dict[str, tuple[Any, int]] = {}  # the last seed, and how often it was the one before

    def attach(self) -> None:
        self._hub.patch(torch, "manual_seed", self._around)
        self._hub.patch(random, "seed", self._around)
        numpy = sys.modules.get("numpy")
        if numpy is not None:
            self._hub.patch(numpy.random, "seed", self._around)
            self._hub.patch(numpy.random, "default_rng", self._around)
        for name in _DRAWS:
            self._hub.patch(torch, name, self._around_draw)

    def most(self) -> tuple[str, int]:
        """The line that set a seed again most often, and how often."""
        line = max(self._lines, key=lambda one: self._lines[one][1], default="")
        return (line, self._lines[line][1]) if line else ("", 0)

    def _around(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def seed(*args: Any, **kwargs: Any) -> Any:
            hub = self._hub
            if not torch.compiler.is_compiling() and hub.step and not hub.inside:
                self._note(next(iter((*args, *kwargs.values())), None))
            return original(*args, **kwargs)

        return seed

    def _around_draw(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def draw(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            if kwargs.get("generator") is not None and not torch.compiler.is_compiling():
                self._note_state(kwargs["generator"])
            return result

        return draw

    def _note_state(self, generator: torch.Generator) -> None:
        """A generator of the script's cannot be watched; its state after a draw tells whether it had begun anew."""
        hub = self._hub
        if hub.step and not hub.inside and generator.device.type == "cpu":
            with outside_modes():
                self._note(hash(generator.get_state().numpy().tobytes()))

    def _note(self, given: Any) -> None:
        if type(given) is not int:
            return
        line = user_line()
        before, again = self._lines.get(line, (None, 0))
        if before is not None or len(self._lines) < MAX_LINES:
            self._lines[line] = given, again + (given == before)
