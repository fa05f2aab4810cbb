"""Training from one and the same state at rising or constant learning rates, each loss compared with what its batch
began with."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import torch

from traindx.probes.base import Deadline
from traindx.probes.overfit import with_full_rate
from traindx.probes.subject import Subject
from traindx.run import Floats

SEED = 20260101  # of dropout and its kin: the same sweep twice gives the same curve
DRAWS = 3  # of the random numbers of a batch, for what it begins with
HOPELESS = 3.0  # times the whole size of the loss above the start: a sweep ends here
LAST = 0.25  # of a trial counts


@dataclass
class Trial:
    """A short training at one rate: the differences to what each batch began with."""

    rate: float
    losses: list[float] = field(default_factory=list)
    broke: bool = False

    def last(self, batches: int) -> Floats:
        """The differences at the end: at least one of each batch, where the trial is long enough."""
        count = min(len(self.losses), max(batches, round(LAST * len(self.losses))))
        return np.array(self.losses[-count:])

    def score(self, batches: int) -> float:
        return math.inf if self.broke or not self.losses else float(self.last(batches).mean())


class Ground:
    """The state that every sweep and trial starts from, and the losses there."""

    def __init__(self, subject: Subject, restore: Callable[[], None]) -> None:
        self.subject, self._restore = subject, restore
        self.batches = len(subject.steps)
        self.seconds = math.nan  # of one update, known after a sweep
        fresh, self.warms = with_full_rate(subject)
        self._goals = [_number(group.get("lr")) for group in fresh.param_groups]
        now = [_number(group.get("lr")) for group in subject.optimizer.param_groups] if subject.optimizer else []
        self.base = next((goal for goal in self._goals if goal > 0), math.nan)
        self.now = next((rate for rate, goal in zip(now, self._goals, strict=True) if goal > 0), math.nan)
        torch.manual_seed(SEED)
        with torch.no_grad():
            draws = np.array(
                [[float(subject.loss(step, same_noise=False)) for step in subject.steps] for _ in range(DRAWS)]
            )
        self.first: Floats = draws.mean(0)
        self.size = float(np.abs(self.first).mean() + self.first.std())
        self.restore()

    def restore(self) -> None:
        self._restore()
        torch.manual_seed(SEED)

    def sweep(self, low: float, high: float, steps: int, deadline: Deadline) -> tuple[Floats, Floats]:
        """Rates and differences of one sweep, evenly in the exponent; it ends early where it is hopeless or time is
        up."""
        self.restore()
        optimizer = self.subject.fresh_optimizer()
        rates, found, times = np.geomspace(low, high, steps), list[float](), list[float]()
        above = 0
        for number, rate in enumerate(rates):
            began = time.monotonic()
            found.append(self._update(optimizer, float(rate), number))
            times.append(time.monotonic() - began)
            above = above + 1 if not found[-1] < HOPELESS * self.size else 0
            if not math.isfinite(found[-1]) or above >= 3 or deadline.passed:
                break
        self.restore()
        self.seconds = float(np.median(times))  # the first update loads and warms, and a busy machine stalls
        return rates[: len(found)], np.array(found)

    def trial(self, rate: float, steps: int) -> Trial:
        """Some updates at a constant rate."""
        self.restore()
        optimizer = self.subject.fresh_optimizer()
        trial = Trial(rate)
        for number in range(steps):
            loss = self._update(optimizer, rate, number)
            if not math.isfinite(loss):
                trial.broke = True
                break
            trial.losses.append(loss)
        self.restore()
        return trial

    def _update(self, optimizer: torch.optim.Optimizer, rate: float, number: int) -> float:
        for group, goal in zip(optimizer.param_groups, self._goals, strict=True):
            value = goal * rate / self.base
            group["lr"] = torch.full_like(group["lr"], value) if isinstance(group["lr"], torch.Tensor) else value
        batch = number % self.batches
        return float(self.subject.update(self.subject.steps[batch], optimizer)) - float(self.first[batch])


def _number(rate: object) -> float:
    """A learning rate as a number; 0 where the optimiser has none (some find their own)."""
    return float(rate) if isinstance(rate, int | float | torch.Tensor) else 0.0
