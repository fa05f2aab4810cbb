"""Measures the loss of every step, the learning rate, the time a step takes, the validation loss, and how the training
ended.

The training loss is whatever `backward` is called on. The validation loss is the mean of what the same loss function
returns while gradients are off, between two training steps."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps_and_evaluation, on_every_step
from traindx.live.events.step_buffer import BufferedStep, rates_of
from traindx.live.recording.values import Number
from traindx.measurements import TrainingEnd

MAX_SUMS = 4  # sums over training batches that are compared with the loss
MAX_START = 50  # first updates whose losses are kept until the end


class Objective(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._losses: list[Number] = []
        # losses of evaluations since the last training step, with their weight and whether they are of training data
        self._held: list[tuple[tuple[Number, float], bool]] = []
        self._open: tuple[Number | None, int] | None = None  # a sum over a training batch, and its samples
        self._sums: list[tuple[Number, int, Number]] = []  # the same with what `backward` was called on then
        self._optimizers: dict[int, int] = {}  # their numbers
        self._suffix = ""  # of the names of what the latest one is recorded as
        self._gone = 0  # optimisers of trainings that are over
        self._last = 0.0
        self._first: list[Number] = []  # the losses before the first update, and before the latest
        self._latest: list[Number] = []
        self._start: list[list[Number]] = []  # those before each of the first updates

    @on_deep_steps_and_evaluation
    def on_criterion(self, call: Criterion) -> None:
        if call.output.numel() != 1:
            return
        summed = call.options.get("reduction") == "sum"  # over the batch, to be divided by the user later
        if call.output.requires_grad:
            if summed and len(self._sums) < MAX_SUMS:
                self._open = self.hub.values.fetch(call.output), _samples(call)
            return
        number = self.hub.values.fetch(call.output) if self.hub.step else None
        if number is not None:
            size = self._divisor(call) if summed else 1.0
            self._held.append(((number, size), self.hub.criteria.splits.of_training(call)))

    def _divisor(self, call: Criterion) -> float:
        """What makes a sum over an evaluation batch comparable with the training loss: what the training makes of its
        own sums, by their samples; the numbers that were summed where that is not known."""
        made = [
            sum.value / (loss.value * samples)
            for sum, samples, loss in self._sums
            if sum.value is not None and loss.value and sum.value / loss.value > 0
        ]
        if made:
            return float(median(made)) * _samples(call)
        return max(1, (call.target if call.name in ("cross_entropy", "nll_loss") else call.input).numel())

    @on_every_step
    def on_backward(self, loss: torch.Tensor) -> None:
        if self._held:
            self._record_held()
            self._last = 0.0  # the time since the last step went into validation
        if loss.numel() == 1:
            number = self.hub.number_of(loss)
            if number is not None:
                self._losses.append(number)
            if self._open is not None and self._open[0] is not None and number is not None:
                self._sums.append((self._open[0], self._open[1], number))
        self._open = None

    @on_every_step
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        groups = optimizer.param_groups
        identity = id(groups[0]["params"][0]) if groups and groups[0]["params"] else id(optimizer)
        number = self._optimizers.get(identity)  # one that is built anew over the same parameters is the same one
        if number is None:
            number = self._optimizers[identity] = self._gone + len(self._optimizers)
        self._suffix = f"/optimizer{number}" if number else ""
        hub, now = self.hub, time.perf_counter()
        losses = self._losses
        if losses:
            self._add_loss(hub.step, losses)
            self._first = self._first or losses
            if len(self._start) < MAX_START:
                self._start.append(losses)
            self._latest, self._losses = losses, []
        for index, rate in enumerate(rates_of(optimizer)):
            if rate is not None:
                hub.record(self._rate_of(index), rate)
        if self._last and not hub.deep:  # our own close looks are not the training's time
            hub.record("step_time", now - self._last)
        self._last = now

    def _add_loss(self, step: int, losses: Sequence[Number]) -> None:
        """Several backward calls before one step accumulate; what the step saw is their sum or their mean: the mean is
        what a log would show."""
        name = f"train_loss{self._suffix}"
        if len(losses) == 1:
            self.hub.values.add(step, name, losses[0])
        else:
            self.hub.values.add_mean(step, name, [(loss, 1.0) for loss in losses])

    def _rate_of(self, group: int) -> str:
        return f"lr{self._suffix}/group{group}" if group else f"lr{self._suffix}"

    @property
    def buffered(self) -> bool:
        return True

    def on_steps(self, steps: Sequence[BufferedStep], losses: Sequence[Number]) -> None:
        for one in steps:
            row: dict[str, float] = {}
            for index, rate in enumerate(one.rates):
                if rate is not None:
                    row[self._rate_of(index)] = float(rate)
            if self._last:
                row["step_time"] = one.ended - self._last
            self._last = one.ended
            self.hub.values.add_row(one.step, row)
            self._add_loss(one.step, one.losses)
            self._latest = list(one.losses)
            if len(self._start) < MAX_START:
                self._start.append(self._latest)
        self._losses.extend(losses)

    def on_models_freed(self) -> None:
        self._gone += len(self._optimizers)
        self._optimizers.clear()

    def _record_held(self) -> None:
        self.hub.values.add_mean(self.hub.step, "val_loss", self.hub.criteria.splits.held_out(self._held))
        self._held = []

    def on_end(self) -> None:
        if self._held:
            self._record_held()
        self.hub.values.poll(wait=True)
        if self.hub.step:
            self._measure_end()

    def _measure_end(self) -> None:
        hub, first, latest = self.hub, _mean(self._first), _mean(self._latest)
        if first is not None and latest is not None and not hub.cut_short:
            hub.event("finished", f"The script came to its own end after {hub.step} updates.")
        start = tuple(value for losses in self._start if (value := _mean(losses)) is not None)
        hub.measure(
            TrainingEnd(
                updates=hub.step,
                cut_short=hub.cut_short,
                first_loss=first,
                last_loss=latest,
                losses=start,
                closures_again=hub.closures_again,
            )
        )


def _samples(call: Criterion) -> int:
    return max(1, call.input.shape[0] if call.input.dim() else 1)


def _mean(losses: list[Number]) -> float | None:
    numbers = [loss.value for loss in losses if loss.value is not None]
    return sum(numbers) / len(numbers) if numbers else None


OBSERVER = Objective
