"""Timing that says how sure it is: many short runs in turns, medians with their error, gains with an interval."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from traindx.probes.base import Deadline

WARM_UP = 2
MIN_STEPS, MAX_STEPS = 5, 20
SURE = 2.0  # standard errors of an interval
_MAD = 1.4826  # makes the median deviation a standard deviation for normal scatter
_OF_MEDIAN = 1.2533  # the standard error of a median by that of a mean


@dataclass(frozen=True)
class Timed:
    """Seconds of single runs; their median is what counts, because other programs only ever make a run slower."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return float(np.median(self.seconds))

    @property
    def error(self) -> float:
        """The standard error of the median."""
        off = np.abs(np.asarray(self.seconds) - self.median)
        return _OF_MEDIAN * _MAD * float(np.median(off)) / math.sqrt(len(self.seconds))


@dataclass(frozen=True)
class Gain:
    """How many times faster, with the bounds of its interval."""

    times: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.times:.2f} times ({self.low:.2f} to {self.high:.2f})"


def gain(before: Timed, after: Timed) -> Gain:
    ratio = before.median / max(after.median, 1e-12)
    error = math.hypot(before.error / max(before.median, 1e-12), after.error / max(after.median, 1e-12))
    return Gain(ratio, ratio * math.exp(-SURE * error), ratio * math.exp(SURE * error))


def timed(calls: Sequence[Callable[[], object]], device: torch.device, deadline: Deadline) -> list[Timed]:
    """Each call many times, all of them in turns, so that a change of the machine's mood meets all alike. The device is
    waited for after each. It ends soon after the deadline, with MIN_STEPS runs of each at least."""
    found: list[list[float]] = [[] for _ in calls]
    for number in range(WARM_UP + MAX_STEPS):
        for call, seconds in zip(calls, found, strict=True):
            began = time.perf_counter()
            call()
            finish(device)
            if number >= WARM_UP:
                seconds.append(time.perf_counter() - began)
        if deadline.passed and number >= WARM_UP + MIN_STEPS - 1:
            break
    return [Timed(tuple(seconds)) for seconds in found]


def finish(device: torch.device) -> None:
    """Wait until the device has done all that was asked of it."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
