"""What a probe is. One module a probe in `kinds/`, named after its id; a module that defines PROBE is registered by
being there and is a command of its own (`traindx ID train.py`). The first line of its docstring is the command's
help."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from traindx.probes.subject import Subject
from traindx.reading import Reading

Need = Literal["loss", "optimizer"]


@dataclass
class Deadline:
    """How long a probe may still take. Probes ask; nobody interrupts them."""

    seconds: float
    _began: float = field(default_factory=time.monotonic)

    @property
    def left(self) -> float:
        return max(0.0, self.seconds - (time.monotonic() - self._began))

    @property
    def passed(self) -> bool:
        return self.left <= 0


@dataclass(frozen=True)
class Probe:
    """`measure` may train, step and perturb the subject as it likes: it is called inside `subject.undisturbed()`, with
    gradients on, and everything is put back afterwards. It must end soon after its deadline. What it cannot measure it
    lists in `Reading.unknown`; a fact it states must be near-certain. `seconds` is its share of time among all probes,
    `alone` what it may take where it is the only one (else the same). `needs` is what must be there: 'loss' steps that
    can be replayed, 'optimizer' the user's optimiser. `whole` probes make no sense for one part of an adversarial
    pair."""

    id: str
    title: str
    measure: Callable[[Subject, Deadline], Reading]
    needs: tuple[Need, ...] = ("loss",)
    seconds: float = 10.0
    alone: float | None = None
    whole: bool = False
