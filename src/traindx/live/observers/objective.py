"""The loss of every step, the learning rate, the time a step takes, and the validation loss.

The training loss is whatever `backward` is called on. The validation loss is the mean of what the same loss function returns
while gradients are off, between two training steps.
"""

from __future__ import annotations

import time

import torch

from traindx.live.hub import Hub
from traindx.live.observer import Criterion, Observer

FEW_UPDATES = 50  # fewer are hardly a training
STILL_HIGH = 0.7  # of the first loss
HARDLY_MOVED = 0.9  # the same for up to three times as many updates


class Objective(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._losses: list[torch.Tensor] = []
        self._held: list[torch.Tensor] = []  # validation losses since the last training step
        self._optimizers: dict[int, int] = {}
        self._last = 0.0
        self._first: torch.Tensor | None = None
        self._latest: torch.Tensor | None = None

    def on_criterion(self, call: Criterion) -> None:
        if call.output.requires_grad or call.output.numel() != 1:
            return
        if self.hub.step:
            value = call.output.detach()
            if call.options.get("reduction") == "sum":  # summed over the batch, to be divided by the user later
                whole = call.target if call.name in ("cross_entropy", "nll_loss") else call.input
                value = value / max(1, whole.numel())
            self._held.append(value)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._held:
            self.hub.record("val_loss", torch.stack([value.float() for value in self._held]).mean())
            self._held.clear()
            self._last = 0.0  # the time since the last step went into validation
        if loss.numel() == 1:
            self._losses.append(loss.detach().reshape(()))

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        number = self._optimizers.setdefault(_identity(optimizer), len(self._optimizers))
        suffix = "" if number == 0 else f"/optimizer{number}"
        now = time.perf_counter()
        if self._losses:
            # several backward calls before one step accumulate; what the step saw is their sum or their mean: the mean
            # is what a log would show
            total = self._losses[0] if len(self._losses) == 1 else torch.stack([v.float() for v in self._losses]).mean()
            self.hub.record(f"train_loss{suffix}", total)
            self._first = total if self._first is None else self._first
            self._latest = total
            self._losses.clear()
        for index, group in enumerate(optimizer.param_groups):
            rate = group.get("lr")
            if rate is not None and index < 4:
                self.hub.record(f"lr{suffix}" if index == 0 else f"lr{suffix}/group{index}", rate)
        if self._last and not self.hub.deep:  # our own close looks are not the training's time
            self.hub.record("step_time", now - self._last)
        self._last = now

    def on_end(self) -> None:
        self._tell_length()
        if self._held:
            self.hub.record("val_loss", torch.stack([value.float() for value in self._held]).mean())
            self._held.clear()

    def _tell_length(self) -> None:
        """Whether the training ended by itself before it had begun to learn."""
        if self._first is None or self._latest is None or self.hub.cut_short:
            return
        self.hub.event("finished", f"The script came to its own end after {self.hub.step} updates.")
        share = float(self._latest) / float(self._first) if float(self._first) > 0 else 0.0
        handful = self.hub.step < FEW_UPDATES and share > STILL_HIGH
        if handful or (self.hub.step < 3 * FEW_UPDATES and share > HARDLY_MOVED):
            self.hub.fact(
                "few-updates", True,
                f"The training ended by itself after {self.hub.step} updates; the loss is still {share:.0%} of its first value.",
            )  # fmt: skip
        elif self.hub.step >= 3 * FEW_UPDATES:
            self.hub.fact("few-updates", False, f"The training ended after {self.hub.step} updates.")


def _identity(optimizer: torch.optim.Optimizer) -> int:
    """What an optimiser is about: one that is built anew over the same parameters is the same one."""
    return next((id(parameter) for group in optimizer.param_groups for parameter in group["params"]), id(optimizer))


OBSERVER = Objective
