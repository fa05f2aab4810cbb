"""Measures what the model is fed: scale of inputs and targets, size of the batches, their order, and the wait for them.

Inputs are measured where they meet the first weights, so that whatever the model does to them before counts. That is
seen on deep steps; targets and the loader are seen on all.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from functools import partial
from statistics import mean, stdev
from typing import Any

import torch
from torch.utils.data import RandomSampler, SequentialSampler

from traindx.live.events.criteria import REGRESSION
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.events.step_buffer import BufferedStep
from traindx.live.measures.rows import head_sample, watchable
from traindx.live.measures.tensors import columns, first_input, tensors_in
from traindx.live.recording.async_copy import AsyncCopy
from traindx.live.recording.values import Number
from traindx.measurements import BatchClasses, BatchSize, InputScale, RateRange, SmallBatches, TargetScale

MAX_INPUTS = 12  # batches whose scale is measured
NORMALISING = (
    torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm, torch.nn.RMSNorm,
    torch.nn.LocalResponseNorm,
)  # fmt: skip
IGNORED = -100  # in labels, by convention
MIN_ROWS = 8  # of a batch that has a usual sample, or a class that most belong to
WILD = 50.0  # times the usual reach of a sample: such samples are not the scale of the data
FIRST_STEPS = 3  # that tell how many samples an update sees, and what losses and targets are at first
MAX_LABELS = 4096  # of a batch that are looked at for their order
MAX_ORDERED = 40  # batches whose labels are looked at for their order
MAX_SMALL = 2  # samples an update sees, for its losses to be kept
WINDOW = 60  # losses kept
WINDOW_EVERY = 500  # updates between looks at them


class Batches(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._waited = 0.0
        self._loaders: set[int] = set()
        self._sequential: bool | None = None  # the first loader goes through the data in order
        self._entries = self._scales = 0  # batches met where data meets weights, and those whose scale was measured
        self._target_known = False
        self._rows = self._samples = 0  # in a training batch; the same with positions of sequences
        self._table = False
        self._backwards = self._backwards_at = 0  # backward passes since the last update, and which one that was
        self._accumulated = False
        self._blown_up = False  # losses of small batches are not finite any more
        self._losses: deque[Number] = deque(maxlen=WINDOW)
        self._first_losses: list[Number] = []
        self._next_look = WINDOW  # the update at which the losses are looked at next
        self._rates: dict[str, RateRange] = {}
        self._classes: list[int] = []  # the one that most samples of a batch belong to,
        self._shares: list[float] = []  # and how many do
        self._ordering = True  # labels are still looked at

    # --- the loader ---------------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        self._waited += seconds
        if id(loader) not in self._loaders and len(self._loaders) < 16:
            first = not self._loaders
            self._loaders.add(id(loader))
            if first:
                self._sequential = _order(loader)
                self.hub.config(
                    batch_size=getattr(loader, "batch_size", None), num_workers=getattr(loader, "num_workers", None),
                    pin_memory=getattr(loader, "pin_memory", None),
                    shuffle=None if self._sequential is None else not self._sequential,
                )  # fmt: skip

    # --- inputs -------------------------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        """How many samples an update sees: the most rows any model is given in the first steps."""
        data = first_input(args, kwargs)
        if self.hub.step >= FIRST_STEPS or not self.hub.grad or data is None or data.dim() < 2:
            return
        sequence = data.dim() == 3 or not data.is_floating_point()
        self._rows = max(self._rows, data.shape[0])
        self._samples = max(
            self._samples, data.shape[0] * (data.shape[1] if sequence and _by_position(data, output) else 1)
        )
        self._table = data.dim() == 2

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        """Data meets weights: a layer with parameters of its own whose input no parameter has touched."""
        if not self.hub.grad or self._entries >= MAX_INPUTS or not args or not isinstance(args[0], torch.Tensor):
            return
        data = args[0]
        if (
            data.requires_grad
            or not data.is_floating_point()
            or not watchable(data)
            or next(module.children(), None) is not None
        ):
            return
        if next(module.parameters(), None) is None or not any(t.requires_grad for t in tensors_in(output)):
            return
        self._entries += 1
        if isinstance(module, NORMALISING):
            self.hub.measure(InputScale(normalising=True, where=name))
        else:
            self._copies.to_host(head_sample(data), partial(self._measure_inputs, name, self.hub.step + 1))

    def _measure_inputs(self, name: str, update: int, data: torch.Tensor) -> None:
        table = columns(_without_wild(data)).float()
        means = table.mean(0)
        stds = table.std(0) if table.shape[0] > 1 else torch.zeros_like(means)
        scales = torch.maximum(means.abs(), stds)
        moving = scales[stds > 0]  # a constant feature has no scale
        largest, column = scales.max(0)
        numbers = torch.stack([largest, means[column], stds[column], data.abs().amax().float()])
        top, average, deviation, peak = numbers.tolist()
        if not all(map(math.isfinite, (top, average, deviation, peak))):
            return
        self._scales += 1
        self.hub.measure(
            InputScale(
                normalising=False, batch=self._scales, update=update, largest=top,
                smallest=float(moving.min()) if len(moving) else 0.0, feature=int(column), mean=average, std=deviation,
                peak=peak, where=name,
            )
        )  # fmt: skip

    # --- targets, size and order
    # ----------------------------------------------------------------------------------------

    def on_criterion(self, call: Criterion) -> None:
        early = self.hub.step < FIRST_STEPS and not self._target_known
        if (
            not self.hub.grad
            or not (early or self._ordering)
            or not call.output.requires_grad
            or not watchable(call.target)
        ):
            return
        if early and call.name in REGRESSION and call.target.is_floating_point():
            numbers = torch.stack(
                [
                    call.target.float().mean(),
                    call.target.float().std(correction=0),
                    call.input.float().square().mean().sqrt(),
                ]
            )
            self._copies.ask(numbers, partial(self._measure_targets, call.where))
        if call.target.is_floating_point() or call.target.dim() != 1:
            self._ordering = False
        elif self._ordering:
            self._copies.to_host(call.target.detach()[:MAX_LABELS], self._note_class)

    def _measure_targets(self, where: str, numbers: list[float]) -> None:
        """Of the first call: later the outputs have begun to follow the targets."""
        if self._target_known or not all(map(math.isfinite, numbers)):
            return
        self._target_known = True
        average, deviation, output = numbers
        self.hub.measure(TargetScale(mean=average, std=deviation, output=output, where=where))

    def _note_class(self, labels: torch.Tensor) -> None:
        """How much of a batch is of one class: in shuffled data about the share of the largest class."""
        if len(labels) < MIN_ROWS or not self._ordering:
            return
        if bool((labels == IGNORED).any()):  # tokens: what each row is to answer is counted elsewhere
            self._ordering = False
            self._classes.clear()
            return
        # the largest class of a batch that is nearly pure is one of these three
        some = labels[[0, len(labels) // 2, -1]]
        share, place = (labels.reshape(-1, 1) == some).double().mean(0).max(0)
        self._shares.append(float(share))
        self._classes.append(int(some[place]))
        if len(self._classes) == MAX_ORDERED:
            self._ordering = False
            self._measure_order()

    def _measure_order(self) -> None:
        if self._classes:
            self.hub.measure(
                BatchClasses(classes=tuple(self._classes), shares=tuple(self._shares), sequential=self._sequential)
            )

    # --- by the update ------------------------------------------------------------------------------------------------

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._backwards_at != self.hub.step:  # updates in between were not notified of
            self._backwards, self._backwards_at = 0, self.hub.step
        self._backwards += 1
        number = self.hub.number_of(loss) if self._small and loss.numel() == 1 else None
        if number is not None:
            self._losses.append(number)
            if len(self._first_losses) < FIRST_STEPS:  # later ones may have blown up already
                self._first_losses.append(number)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self._waited:
            self.hub.record("data_time", self._waited)
            self._waited = 0.0
        self._copies.poll()
        if self.hub.step == 0 and self._rows and not self._loaders:
            self.hub.config(batch_size=self._rows)
        if self.hub.step == FIRST_STEPS - 1:
            self._measure_size()
        self._accumulated = self._accumulated or self._backwards > 1
        self._backwards = 0
        if self._small:
            self._note_rate(optimizer)
            self._look_at_losses()

    def on_steps(self, steps: Sequence[BufferedStep], losses: Sequence[Number]) -> None:
        if self._small:
            self._accumulated = any(len(step.losses) > 1 for step in steps)
            self._losses.extend(number for step in steps for number in step.losses)
            self._look_at_losses()

    @property
    def _small(self) -> bool:
        """Updates see a sample or two; several that are accumulated are not small."""
        return 0 < self._samples <= MAX_SMALL and not self._accumulated and not self._blown_up

    def _note_rate(self, optimizer: torch.optim.Optimizer) -> None:
        group, name = optimizer.param_groups[0], type(optimizer).__name__
        lr, momentum = group.get("lr"), float(group.get("momentum") or 0.0)
        if not isinstance(lr, float):
            return
        known = self._rates.get(name, RateRange(name, lr, momentum, lr, momentum))
        if _effective(lr, momentum) > _effective(known.highest_lr, known.highest_momentum):
            known = known._replace(highest_lr=lr, highest_momentum=momentum)
        if _effective(lr, momentum) < _effective(known.lowest_lr, known.lowest_momentum):
            known = known._replace(lowest_lr=lr, lowest_momentum=momentum)
        self._rates[name] = known

    def _look_at_losses(self) -> None:
        if self.hub.step >= self._next_look and len(self._losses) == WINDOW:
            self._next_look = self.hub.step + WINDOW_EVERY
            self._measure_losses()

    def _measure_losses(self) -> None:
        """The losses kept, once half of them have arrived."""
        losses = [number.value for number in self._losses if number.value is not None]
        firsts = [number.value for number in self._first_losses if number.value is not None]
        if 2 * len(losses) < len(self._losses) or not firsts or not math.isfinite(mean(firsts)):
            return
        finite = [value for value in losses if math.isfinite(value)]
        self._blown_up = len(finite) < len(losses) and len(self._losses) == WINDOW  # no more is to be seen
        self.hub.measure(
            SmallBatches(
                losses=len(self._losses), mean=mean(finite) if finite else 0.0,
                std=stdev(finite) if len(finite) > 1 else 0.0, nonfinite=len(losses) - len(finite),
                first=mean(firsts), accumulated=self._accumulated, rates=tuple(self._rates.values()),
            )
        )  # fmt: skip

    def _measure_size(self) -> None:
        if self._rows:
            self.hub.measure(BatchSize(rows=self._rows, samples=self._samples, table=self._table))

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self.hub.values.poll(wait=True)
        self._measure_size()
        if self._losses and not self._blown_up:
            self._measure_losses()
        if self._ordering:
            self._measure_order()


def _without_wild(data: torch.Tensor) -> torch.Tensor:
    """The batch with one of its usual samples in place of those far out of their range: a few spoilt ones do not make
    the scale of the data."""
    if data.dim() < 2 or data.shape[0] < MIN_ROWS:
        return data
    reach = data.abs().flatten(1).amax(1).float()
    median, usual = reach.median(0)
    return data[torch.where(reach > WILD * median, usual, torch.arange(len(reach)))]


def _by_position(data: torch.Tensor, output: Any) -> bool:
    """Whether a sequence has an answer for each of its positions, or it cannot be seen that it has one in all."""
    tables = [one for one in tensors_in(output) if one.dim() >= 2]
    flat = data.shape[0] * data.shape[1]
    return not tables or any(
        one.shape[0] == flat or (one.dim() >= 3 and one.shape[:2] == data.shape[:2]) for one in tables
    )


def _effective(lr: float, momentum: float) -> float:
    """What an update adds up to, with those that momentum brings after it."""
    return lr / max(1 - momentum, 1e-3)


def _order(loader: Any) -> bool | None:
    """Whether the loader goes through the data in order; None where it cannot be known."""
    sampler = getattr(loader, "sampler", None)
    return True if isinstance(sampler, SequentialSampler) else False if isinstance(sampler, RandomSampler) else None


OBSERVER = Batches
