"""What the data looks like in the first batches: shape, range and kind, samples that repeat, features that never change, and
how many updates a pass over it makes."""

from __future__ import annotations

import math
import weakref
from contextlib import suppress
from functools import partial
from typing import Any

import torch

from traindx.live.findings import Finding, Findings
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.neighbours import distinct
from traindx.live.observer import Criterion, Observer, on_deep_steps
from traindx.live.pace import falls_steadily
from traindx.live.rows import few, thinned, watchable
from traindx.live.tensors import first_input, names_of, wants_gradients
from traindx.live.values import Number

BATCHES = 8  # looked at
ENOUGH = 3
ROWS = 1024  # of a batch
LEAST_ROWS = 8
FEATURES = 1024  # of a sample that are compared, spread over it
LEAST_FEATURES = 4  # fewer make equal rows by chance
REPEATED = 0.25  # of the rows of a batch
OUTLIER = 50.0  # times the middle of its batch that the largest value of a sample is
SEEN_ROWS = 64  # before a feature is called constant
TABLE = 50  # features at most: wider rows may be images, whose borders are constant by nature
PIXELS = 1.5  # beyond this, numbers from 0 up to at most 255 are pixels that nobody scaled
FEW_UPDATES, MANY_PASSES, FEW_A_PASS, LEAST_DATA, STILL_HIGH = 150, 10, 2, 256, 0.7
UNFINISHED = 0.3  # of the first loss, where it falls to the end as it did at first


class Samples(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._findings = Findings(hub)
        self._later = Later()
        self._described = self._labelled = False
        self._looks = 0
        self._repeated: list[float] = []
        self._low: torch.Tensor | None = None  # of each feature, over the batches looked at
        self._high: torch.Tensor | None = None
        self._rows = 0
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
        if data.is_floating_point() and len(data) >= LEAST_ROWS:
            self._later.bring(thinned(data), partial(self._ranged, self.hub.step + 1))
        if self._lengths is None and self._last_loader is None and self.hub.step < ENOUGH and len(data) >= LEAST_DATA:
            self._later.ask(data.detach().double().sum().reshape(1), partial(self._summed, len(data)))
        if self._looks >= BATCHES or not self.hub.deep:
            return
        if not self._described:
            self._described = True
            self._later.bring(few(data), partial(self._describe, tuple(data.shape)))
        if len(data) >= LEAST_ROWS and data.is_floating_point():
            self._looks += 1
            self._later.bring(few(data[:ROWS]), self._look)

    on_glance = on_forward

    def _ranged(self, update: int, rows: torch.Tensor) -> None:
        largest = rows.abs().amax(1).float()
        high, middle = float(largest.amax()), float(largest.median())
        # a spike it caused says more: which sample, and where the batch is kept
        if 0 < OUTLIER * middle < high < math.inf and "outlier-batch" not in self.hub.found:
            text = f"A sample in the batch of update {update} reaches {high:.3g}; the samples beside it reach {middle:.3g} in the middle."
            self._findings.add(Finding("outlier-batch", True, text))

    def _summed(self, rows: int, sums: list[float]) -> None:
        """Without a loader the size of the data is not known, but that every update sees the same samples is."""
        self._sums += sums
        first = self._sums[0]
        same = all(math.isclose(one, first, rel_tol=1e-6, abs_tol=1e-6 * rows) for one in self._sums)
        if same and len(self._sums) >= ENOUGH and self._last_loader is None:
            self._lengths = 1, rows

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
        if len(data) < LEAST_ROWS:
            return
        rows = data.flatten(1)
        rows = rows[:, :: math.ceil(rows.shape[1] / FEATURES)]
        if rows.shape[1] >= LEAST_FEATURES:
            repeated = 1 - len(distinct(rows.float())) / len(rows)
            varied = len(rows[0].float().unique()) > LEAST_FEATURES // 2  # type: ignore[no-untyped-call]
            self._repeated.append(repeated if varied else 0.0)
        if data.dim() == 2 and data.shape[1] <= TABLE:
            low, high = data.amin(0), data.amax(0)
            if self._low is None or self._high is None or self._low.shape != low.shape:
                self._low, self._high, self._rows = low, high, 0
            self._low, self._high = torch.minimum(self._low, low), torch.maximum(self._high, high)
            self._rows += len(data)

    @on_deep_steps
    def on_criterion(self, call: Criterion) -> None:
        if self._labelled or not call.output.requires_grad or not watchable(call.target) or call.target.is_complex():
            return
        self._labelled = True
        self._later.bring(few(call.target), partial(self._describe_target, str(list(call.target.shape[1:]))))

    def _describe_target(self, shape: str, target: torch.Tensor) -> None:
        kind = str(target.dtype).removeprefix("torch.")
        low, high = (float(end) for end in torch.aminmax(target))
        self.hub.config(target_min=low, target_max=high, target_dtype=kind, target_shape=shape)

    # --- what it amounts to -------------------------------------------------------------------------------------------

    def on_batch(self, batch: Any, loader: Any, seconds: float) -> None:
        if self._lengths is None and self.hub.step < FEW_UPDATES:
            self._last_loader = weakref.ref(loader)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self.hub.step < FEW_UPDATES and loss.numel() == 1:
            self._measure_loader()
            number = self.hub.number_of(loss)
            if number is not None and len(self._losses) < FEW_UPDATES:
                self._losses.append(number)

    def _measure_loader(self) -> None:
        loader = self._last_loader() if self._last_loader is not None else None
        if loader is not None and self._lengths is None:
            with suppress(TypeError, AttributeError, NotImplementedError):  # it does not know its length
                self._lengths = len(loader), len(loader.dataset)

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self._later.poll()

    def on_end(self) -> None:
        self._later.poll(wait=True)
        self._tell_repeated()
        self._tell_constant()
        if not self.hub.cut_short:
            self._tell_passes()

    def _tell_repeated(self) -> None:
        if len(self._repeated) < ENOUGH:
            return
        many = [share for share in self._repeated if share > REPEATED]
        if 2 * len(many) > len(self._repeated):
            middle = sorted(many)[len(many) // 2]
            text = f"In {len(many)} of {len(self._repeated)} batches looked at {middle:.0%} of the samples repeat another one of their batch."
            self._findings.add(Finding("duplicate-samples", True, text))
        elif not many:
            text = f"{len(self._repeated)} batches looked at hold hardly any sample twice."
            self._findings.add(Finding("duplicate-samples", False, text))

    def _tell_constant(self) -> None:
        if self._low is None or self._high is None or self._rows < SEEN_ROWS:
            return
        still = (self._low == self._high).nonzero().flatten().tolist()
        of = f"of {len(self._low)} input features"
        if still and len(still) < len(self._low):
            text = f"{len(still)} {of} have one value in all {self._rows} samples looked at: {names_of(still)}."
            self._findings.add(Finding("constant-features", True, text))
        elif not still:
            self._findings.add(Finding("constant-features", False, f"All {of} change."))

    def _tell_passes(self) -> None:
        """Many passes over the data and hardly any updates: a batch is as large as the data."""
        if self._lengths is None:
            return
        batches, data = self._lengths
        losses = [number.value for number in self._losses if number.value is not None]
        if not losses or not losses[0]:
            return
        passes, share = self.hub.step / max(batches, 1), losses[-1] / losses[0]
        few = batches <= FEW_A_PASS and passes >= MANY_PASSES and self.hub.step < FEW_UPDATES
        unfinished = share > STILL_HIGH or (share > UNFINISHED and falls_steadily(losses))
        if few and data >= LEAST_DATA and unfinished:
            text = (
                f"{passes:.0f} passes over {data} samples made {self.hub.step} updates, because a batch holds {math.ceil(data / batches)} of "
                f"them; the loss is still {share:.0%} of its first value."
            )
            self._findings.add(Finding("huge-batches", True, text))
        elif batches > FEW_A_PASS:
            self._findings.add(Finding("huge-batches", False, f"A pass over the data makes {batches} updates."))


OBSERVER = Samples
