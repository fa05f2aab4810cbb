"""Measures a model that is trained to take noise away: how much of its target is in its input at each time, what kind
of target it is, and what the sampler does with the output."""

from __future__ import annotations

import math
from collections import deque
from statistics import median
from typing import Any

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.measures.handmade import written_out
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import tensors_in
from traindx.live.recording.async_copy import AsyncCopy
from traindx.loss_functions import REGRESSION
from traindx.measurements import NoisedInputs, SamplerSteps

MAX_ROWS, MAX_ELEMENTS = 128, 256  # of a batch that are looked at
KEPT_ROWS = 2048
BINS = 10
GROWTH = 1.1  # how much farther each look is from the begin than the one before
SAMPLER_CALLS = 40
MAX_PROBED = 32  # calls after which a model that was never given times is left alone

Numbers = tuple[float, float, float, float]  # of a row: time, product with the target, squares of both


class Denoising(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._pair: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None  # input, times, output of this step
        self._asked = self._looks = self._elements = 0
        self._due = 0  # the step from which calls are sampled for the next look
        self._whole = True
        self._rows: deque[Numbers] = deque(maxlen=KEPT_ROWS)
        self._targets: deque[tuple[float, float, float, float]] = deque(maxlen=64)  # moments of the targets' batches
        self._left = math.nan
        self._drawing: tuple[torch.Tensor, torch.Tensor, float] | None = None
        self._steps: list[tuple[float, float, float]] = []

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not self._looks and self._asked >= MAX_PROBED:
            return
        self._asked += 1
        found = _noised(args, kwargs, output)
        if found is None:
            return
        if self.hub.grad:
            self._pair, self._drawing = found, None
        elif self._looks:
            self._follow(*found)

    on_sampled_call = on_forward

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        """Where a model adds the noise itself, the part that takes it away is one of its modules."""
        if len(args) > 1 and self._pair is None and self.hub.grad:
            self._pair = _noised(args, {}, output)

    def on_criterion(self, call: Criterion) -> None:
        if self._pair is not None and call.name in REGRESSION:
            predicted, target = (call.input, call.target) if call.input.requires_grad else (call.target, call.input)
            self._compare(predicted, target)

    def on_backward(self, loss: torch.Tensor) -> None:
        if self._pair is not None and loss.grad_fn is not None:
            found = written_out(loss, self._pair[2])
            if found is not None:
                self._compare(found.input, found.target)
        self._pair = None

    def on_depth(self, deep: bool) -> None:
        if not deep:
            self._pair = None

    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()
        self._drawing = None
        if self._looks and not self.hub.deep and self.hub.step >= self._due:
            self.hub.sample_calls(evaluation=False)

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        self._pair = self._drawing = None

    def _compare(self, predicted: torch.Tensor, target: torch.Tensor) -> None:
        assert self._pair is not None
        given, times, _ = self._pair
        if target.requires_grad or target.shape != given.shape or predicted.shape != given.shape:
            return
        if not (watchable(target.detach()) and watchable(predicted.detach())):
            return
        self._pair = None
        elements = given[0].numel()

        def take(x: torch.Tensor, y: torch.Tensor, p: torch.Tensor, t: torch.Tensor) -> None:
            self._take(x.float(), y.float(), p.float(), t.double().reshape(-1).tolist(), elements)

        self._copies.bring_all((_sample(given), _sample(target), _sample(predicted), times[:MAX_ROWS]), take)

    def _take(self, x: torch.Tensor, y: torch.Tensor, p: torch.Tensor, times: list[float], elements: int) -> None:
        self._looks += 1
        self._due = round(GROWTH * self.hub.step)
        self._elements = elements
        self._whole = self._whole and all(t == int(t) for t in times)
        products = torch.stack([(x * y).sum(1), (x * x).sum(1), (y * y).sum(1)], 1).tolist()
        rows = times if len(times) == len(products) else times * len(products)
        self._rows.extend((t, *row) for t, row in zip(rows, products, strict=False))
        square = float((y * y).mean())
        self._left = float(((p - y) ** 2).mean()) / max(square, 1e-12)
        pairs = float((y[:, 1:] * y[:, :-1]).mean()) if y.shape[1] > 1 else 0.0
        self._targets.append((square, float((y**4).mean()), pairs, 1.0))
        low, high = min(t for t, *_ in self._rows), max(t for t, *_ in self._rows)
        if high <= low:
            return
        bins: list[list[float]] = [[0.0, 0.0, 0.0, 0.0] for _ in range(BINS)]
        for t, *sums in self._rows:
            here = bins[min(BINS - 1, int(BINS * (t - low) / (high - low)))]
            here[0] += 1
            for place, value in enumerate(sums, 1):
                here[place] += value
        squares, fourths, nexts, looks = (sum(one) for one in zip(*self._targets, strict=True))
        self.hub.measure(
            NoisedInputs(
                looks=self._looks, rows=len(self._rows), elements=elements, lowest=low, highest=high,
                whole=self._whole, counts=tuple(int(one[0]) for one in bins),
                shares=tuple(one[1] / math.sqrt(one[2] * one[3]) if one[2] * one[3] > 0 else 0.0 for one in bins),
                scales=tuple(math.sqrt(one[3] / (one[0] * y.shape[1])) if one[0] else 0.0 for one in bins),
                peaks=fourths * looks / max(squares * squares, 1e-12), neighbours=nexts / max(squares, 1e-12),
                left=self._left,
            )
        )  # fmt: skip

    def _follow(self, given: torch.Tensor, times: torch.Tensor, output: torch.Tensor) -> None:
        """Two calls of a sampler: the second input is a sum of the first one, its output and noise."""
        if len(self._steps) >= SAMPLER_CALLS:
            return
        before, self._drawing = self._drawing, None
        if output.shape != given.shape or not (watchable(given.detach()) and watchable(output.detach())):
            return
        x, p = _sample(given), _sample(output)

        def take(*arrived: torch.Tensor) -> None:
            time = float(arrived[2].double().reshape(-1)[0])
            same = bool((arrived[2] == arrived[2].reshape(-1)[0]).all())
            held = before
            if held is not None and same and held[0].shape == arrived[0].shape and time < held[2]:
                self._fit(held[0], held[1], arrived[0].float())
            self._drawing = (arrived[0].float(), arrived[1].float(), time) if same else None

        self._copies.bring_all((x.clone(), p.clone(), times[:MAX_ROWS]), take)

    def _fit(self, x: torch.Tensor, p: torch.Tensor, after: torch.Tensor) -> None:
        xx, xp, pp = (float((one * other).sum()) for one, other in ((x, x), (x, p), (p, p)))
        ax, ap, aa = (float((after * other).sum()) for other in (x, p, after))
        apart = xx * pp - xp * xp
        if apart <= 1e-4 * xx * pp or not aa:
            return
        kept, added = (ax * pp - ap * xp) / apart, (ap * xx - ax * xp) / apart
        self._steps.append((kept, added, (kept * ax + added * ap) / aa))
        middle = [median(one) for one in zip(*self._steps, strict=True)]
        self.hub.measure(SamplerSteps(calls=len(self._steps), kept=middle[0], added=middle[1], fit=middle[2]))


def _noised(args: Any, kwargs: Any, output: Any) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None:
    """Input, times and output of a call that may take noise away."""
    given = list(tensors_in((args, kwargs)))
    made = next(tensors_in(output), None)
    if made is None or len(given) < 2 or not made.is_floating_point() or made.dim() < 2:
        return None
    x = next((one for one in given if one.is_floating_point() and one.dim() >= 2 and one.shape == made.shape), None)
    if x is None or not watchable(x.detach()):
        return None
    for one in given:
        if one is not x and one.numel() in (1, len(x)) and one.dim() <= 2 and watchable(one.detach()):
            return x, one.detach().reshape(-1), made
    return None


def _sample(tensor: torch.Tensor) -> torch.Tensor:
    """The middle of each of the first rows, in one piece."""
    flat = tensor.detach()[:MAX_ROWS].flatten(1)
    begin = max(0, (flat.shape[1] - MAX_ELEMENTS) // 2)
    return flat[:, begin : begin + MAX_ELEMENTS]


OBSERVER = Denoising
