"""Steps like those before, noted in a microsecond or two each and reported together.

Where steps take a few milliseconds, calling each observer at every one of them costs more than the budget allows: after
the training's own work Python's code and data have left the processor's caches. So the hub itself notes the loss, the
learning rate and the time of such a step, and observers that can are notified of several with `on_steps`."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, NamedTuple

import torch

from traindx.live.events.scaling import unscaled
from traindx.live.recording.values import Number, Values

GROUPS = 4  # of an optimiser whose learning rates are recorded


class BufferedStep(NamedTuple):
    step: int
    losses: Sequence[Number]  # several, where `backward` was called several times; those on a device are on their way
    rates: Sequence[Any]  # the learning rates of the first groups, as the optimiser has them
    ended: float  # by time.perf_counter


def rates_of(optimizer: torch.optim.Optimizer) -> Sequence[Any]:
    return [group.get("lr") for group in optimizer.param_groups[:GROUPS]]


class StepBuffer:
    """What was noted since it was last reported."""

    def __init__(self, optimizer: int = 0) -> None:
        self.optimizer = optimizer  # the id of the one that made the latest update; others are not noted
        self.steps: list[BufferedStep] = []
        self.losses: list[Number] = []  # since the last update

    def takes(self, tensors: Any, values: Values) -> bool:
        """Note the loss that `backward` is about to run on; False where it must be reported at once: it is not one
        number that can be known, is known not to be finite, or was scaled."""
        if type(tensors) is not torch.Tensor or tensors.numel() != 1 or unscaled(tensors) is not tensors:
            return False
        loss = values.fetch(tensors)
        if loss is None or not math.isfinite(loss.value or 0.0):
            return False
        self.losses.append(loss)
        return True

    def updated(self, step: int, optimizer: torch.optim.Optimizer) -> bool:
        """Note an update; False where it is not of the optimiser that made the one before, or of no loss that was
        noted."""
        if not self.losses or id(optimizer) != self.optimizer:
            return False
        losses, self.losses = self.losses, []
        self.steps.append(BufferedStep(step, losses, rates_of(optimizer), time.perf_counter()))
        return True
