"""Measures what the data looks like in the first batches: shape, range and kind, samples that repeat, features that
never change, and how many updates a pass over it makes."""

from __future__ import annotations

import math
import weakref
from contextlib import suppress
from functools import partial
from statistics import fmean
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer, on_deep_steps
from traindx.live.measures.neighbours import distinct
from traindx.live.measures.rows import head_sample, thinned, watchable
from traindx.live.measures.tensors import first_input, wants_gradients
from traindx.live.recording.async_copy import AsyncCopy
from traindx.live.recording.values import Number
from traindx.measurements import FirstBatches, PassesOverData, SampleExtremes

MAX_BATCHES = 8  # looked at
MIN_BATCHES = 3  # before they are recorded while the training runs
MAX_ROWS = 1024  # of a batch
MAX_EXTREMES = 8  # samples with the largest values that are recorded
MIN_ROWS = 8  # in fewer there is no usual sample
MAX_FEATURES = 1024  # of a sample that are compared, spread over it
MIN_FEATURES = 4  # fewer make equal rows by chance
MAX_COLUMNS = 50  # of a table: wider rows may be images, whose borders are constant by nature
MAX_NAMED = 5  # features that never change
PIXELS = 1.5  # beyond this, numbers from 0 up to at most 255 are pixels that nobody scaled
MAX_LOSSES = 150  # of the first updates
MIN_DATA = 256  # samples of a batch that may be all the data there is,
SAME_BATCHES = 3  # where so many updates see the same
ROUNDING = 1e-6  # by which sums over the same samples in another order may differ


class Samples(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._described = self._labelled = False
        self._looks = 0
        self._repeated: list[float] = []  # share of samples that repeat one of their batch, and
        self._distinct: list[int] = []  # different numbers in its first sample
        self._standing_out = 0.0  # largest sample by the median one, in the batch where that is largest
        self._low: torch.Tensor | None = None  # of each feature, over the batches looked at
        self._high: torch.Tensor | None = None
        self._rows = 0
        self._whole = False  # no loader: the same samples came in every update
        self._lengths: tuple[int, int] | None = None  # batches and samples of the loader that is trained on
        self._last_loader: weakref.ref[Any] | None = None
        self._sums: list[float] = []  # of all values of a training batch, whatever the order of its samples
        self._losses: list[Number] = []  # of the first updates

    # --- what goes in -------------------------------------------------------------------------------------------------

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        data = first_input(args, kwargs)
        if data is None or data.dim() < 2 or not watchable(data) or data.requires_grad:
            return
        if not (self.hub.grad and wants_gradients(output)) or data.is_complex():
            return
        if data.is_floating_point() and len(data) >= MIN_ROWS:
            self._copies.to_host(thinned(data), partial(self._ranged, self.hub.step + 1))
        unknown = self._lengths is None and self._last_loader is None
        if unknown and self.hub.step < SAME_BATCHES and len(data) >= MIN_DATA:
            self._copies.ask(data.detach().double().sum().reshape(1), partial(self._summed, len(data)))
        if self._looks >= MAX_BATCHES or not self.hub.deep:
            return
        if not self._described:
            self._described = True
            self._copies.to_host(head_sample(data), partial(self._describe, tuple(data.shape)))
        if len(data) >= MIN_ROWS and data.is_floating_point():
            self._looks += 1
            self._copies.to_host(head_sample(data[:MAX_ROWS]), self._look)

    on_sampled_call = on_forward

    def _ranged(self, update: int, rows: torch.Tensor) -> None:
        largest = rows.abs().amax(1).float()
        top = largest.topk(min(MAX_EXTREMES, len(largest))).values.tolist()
        high, median = top[0], float(largest.median())
        if median > 0 and high < math.inf and high / median > self._standing_out:
            self._standing_out = high / median
            self.hub.measure(SampleExtremes(update=update, largest=tuple(top), median=median))

    def _summed(self, rows: int, sums: list[float]) -> None:
        """Without a loader the size of the data is not known, but that every update sees the same samples is."""
        self._sums += sums
        first = self._sums[0]
        same = all(math.isclose(one, first, rel_tol=ROUNDING, abs_tol=ROUNDING * rows) for one in self._sums)
        if same and len(self._sums) >= SAME_BATCHES and self._last_loader is None:
            self._lengths, self._whole = (1, rows), True

    def _describe(self, shape: tuple[int, ...], data: torch.Tensor) -> None:
        kind = str(data.dtype).removeprefix("torch.")
        numbers = data.detach().float()
        summary: list[float] = torch.stack(
            [numbers.amin(), numbers.amax(), numbers.mean(), numbers.std(correction=0)]
        ).tolist()
        low, high, mean, std = summary
        whole = not kind.startswith(("float", "bfloat"))
        pixels = len(shape) >= 3 and low >= 0 and PIXELS < high <= 255
        modality = "tokens" if whole and len(shape) == 2 else "pixels 0 to 255" if pixels else "numbers"
        if all(map(math.isfinite, summary)):
            self.hub.config(
                input_shape=str(list(shape[1:])), input_dtype=kind, input_kind=modality, input_min=low, input_max=high,
                input_mean=mean, input_std=std,
            )  # fmt: skip

    def _look(self, data: torch.Tensor) -> None:
        if len(data) < MIN_ROWS:
            return
        rows = data.flatten(1)
        rows = rows[:, :: math.ceil(rows.shape[1] / MAX_FEATURES)]
        if rows.shape[1] >= MIN_FEATURES:
            self._repeated.append(1 - len(distinct(rows.float())) / len(rows))
            self._distinct.append(len(rows[0].float().unique()))  # type: ignore[no-untyped-call]
        if data.dim() == 2 and data.shape[1] <= MAX_COLUMNS:
            self._look_at_columns(data.amin(0), data.amax(0), len(data))

    def _look_at_columns(self, low: torch.Tensor, high: torch.Tensor, rows: int) -> None:
        """A table of another width is no data: a later model is given what a trained one puts out."""
        if self._low is None or self._high is None:
            self._low, self._high = low, high
        if self._low.shape == low.shape:
            self._low, self._high = torch.minimum(self._low, low), torch.maximum(self._high, high)
            self._rows += rows

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        if self._labelled or not call.output.requires_grad or not watchable(call.target) or call.target.is_complex():
            return
        self._labelled = True
        self._copies.to_host(head_sample(call.target), partial(self._describe_target, str(list(call.target.shape[1:]))))

    def _describe_target(self, shape: str, target: torch.Tensor) -> None:
        kind = str(target.dtype).removeprefix("torch.")
        low, high = (float(end) for end in torch.aminmax(target))
        self.hub.config(target_min=low, target_max=high, target_dtype=kind, target_shape=shape)

    # --- what it amounts to -------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._lengths is None and self.hub.step < MAX_LOSSES:
            self._last_loader = weakref.ref(loader)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self.hub.step < MAX_LOSSES and loss.numel() == 1:
            self._measure_loader()
            number = self.hub.number_of(loss)
            if number is not None and len(self._losses) < MAX_LOSSES:
                self._losses.append(number)

    def _measure_loader(self) -> None:
        loader = self._last_loader() if self._last_loader is not None else None
        if loader is not None and self._lengths is None:
            with suppress(TypeError, AttributeError, NotImplementedError):  # it does not know its length
                self._lengths = len(loader), len(loader.dataset)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self._copies.poll()
            if self._looks >= MIN_BATCHES:
                self._measure_first_batches()

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self._measure_first_batches()
        if not self.hub.cut_short:  # else the length says nothing
            self._measure_passes()

    def _measure_first_batches(self) -> None:
        constant: list[int] = []
        if self._low is not None and self._high is not None:
            constant = (self._low == self._high).nonzero().flatten().tolist()
        if self._repeated or self._rows:
            self.hub.measure(
                FirstBatches(
                    repeated=tuple(self._repeated),
                    distinct=tuple(self._distinct),
                    rows=self._rows,
                    features=0 if self._low is None else len(self._low),
                    constant=len(constant),
                    constant_first=tuple(constant[:MAX_NAMED]),
                )
            )

    def _measure_passes(self) -> None:
        """Many passes over the data may make hardly any updates, where a batch is as large as the data."""
        losses = [number.value for number in self._losses if number.value is not None]
        if self._lengths is None or not losses:
            return
        batches, data = self._lengths
        third = len(losses) // 3
        self.hub.measure(
            PassesOverData(
                batches=batches,
                samples=data,
                updates=self.hub.step,
                loaded=not self._whole,
                first_loss=losses[0],
                last_loss=losses[-1],
                thirds=tuple(fmean(losses[third * part : third * (part + 1)]) for part in range(3)) if third else (),
            )
        )


OBSERVER = Samples
