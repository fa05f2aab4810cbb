"""Measures what a generator makes beside what it should look like, and how well the network that judges it tells the
two apart.

A discriminator is known by what it is given: the output of another network, and inputs of that shape from elsewhere."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Criterion, Observer
from traindx.live.instruments.optimizers import built
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import first_input, tensors_in
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import GeneratedSamples

WINDOW = 8  # looks that are kept
MAX_ROWS, MAX_ELEMENTS = 128, 256  # of a batch that are looked at
MIN_ROWS = 8  # of a batch: fewer say nothing about how far samples differ
MAX_MODELS = 16  # whose last outputs are known
UPDATES = 4  # that are looked at in a row: one of each network at least, from its beginning on
GROWTH = 1.1  # how much farther each look is from the begin than the one before
SCORES = 16  # a discriminator gives fewer numbers than this share of what it is given


@dataclass
class _Call:
    """One call of a discriminator in this step."""

    made_by: int  # the network that made the input; 0 where none did
    samples: int
    scores: torch.Tensor
    spread: float = -1.0  # of its input; below 0 until the numbers have arrived
    score_sample: torch.Tensor | None = None


@dataclass
class _Look:
    spread: float
    inputs: float
    real: float
    generated: float
    above: float


@dataclass
class _Judge:
    """What is known of a discriminator."""

    name: str
    generator: int
    looks: int = 0
    loss: str = ""
    shares: bool = True
    samples: int = 0
    widest: float = 0.0
    order: tuple[int, ...] = ()  # whose outputs it is given between two updates, in a step that was seen whole
    window: deque[_Look] = field(default_factory=lambda: deque(maxlen=WINDOW))


class Generated(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._outputs: dict[int, torch.Tensor] = {}  # the last output of each network, in steps that are looked at
        self._names: dict[int, str] = {}
        self._drawn: dict[int, float] = {}  # spread of what each network was given last
        self._calls: dict[int, list[_Call]] = {}  # by discriminator, since the last update
        self._judges: dict[int, _Judge] = {}
        self._due = 0  # the step from which calls are sampled for the next look
        self._until = -1  # the step up to which they are: both networks must have had their turn

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if len(built) < 2 or not self.hub.grad:
            return
        given, made = first_input(args, kwargs), next(tensors_in(output), None)
        if given is None or made is None or not (_usable(given) and _usable(made)):
            return
        key = id(model)
        self._names[key] = self.hub.name_of(model)
        if key not in self._outputs and len(self._outputs) >= MAX_MODELS:
            return
        maker = self._maker(given, key)
        few = made.numel() * SCORES <= given.numel() or made[0].numel() == 1
        if few and (maker or key in self._judges):
            self._note(key, maker, given, made)
        if not few:
            self._outputs[key] = made.detach()
            self._ask_spread(given, lambda spread: self._drawn.__setitem__(key, spread))

    def _maker(self, given: torch.Tensor, key: int) -> int:
        """The network whose last output this is; `detach` leaves the place in memory as it is."""
        for other, output in self._outputs.items():
            if other != key and output.shape == given.shape and output.data_ptr() == given.data_ptr():
                return other
        return 0

    def _note(self, key: int, maker: int, given: torch.Tensor, made: torch.Tensor) -> None:
        if key not in self._judges:
            self._judges[key] = _Judge(self._names[key], maker)
        if given.requires_grad and not maker:
            return  # made from something by a graph we did not see: neither of the two
        call = _Call(maker, len(given), made)
        self._calls.setdefault(key, []).append(call)
        self._ask_spread(given, lambda spread: setattr(call, "spread", spread))
        self._copies.to_host(_scores(made), lambda here: setattr(call, "score_sample", here.float()))

    def _ask_spread(self, tensor: torch.Tensor, then: Any) -> None:
        if len(tensor) >= MIN_ROWS:
            self._copies.to_host(_rows(tensor), lambda here: then(float(here.float().std(0).mean())))

    on_sampled_call = on_forward

    def on_criterion(self, call: Criterion) -> None:
        if not self._calls:
            return
        for key, calls in self._calls.items():
            if any(call.input is one.scores or call.input.data_ptr() == one.scores.data_ptr() for one in calls):
                self._judges[key].loss = call.name

    def on_backward(self, loss: torch.Tensor) -> None:
        if self.hub.step <= self._until:
            self.hub.keep_sampling()  # one loss for real samples, another for generated ones, a third for the generator

    def on_updated(self, optimizer: Optimizer) -> None:
        if not self._judges:
            return
        self._copies.poll()
        calls, self._calls = self._calls, {}
        for key, noted in calls.items():
            self._take(self._judges[key], noted)
        if self.hub.deep:
            return
        if self.hub.step < self._until:
            self.hub.keep_sampling()
            return
        self._outputs.clear()
        if self.hub.step >= self._due:
            self.hub.sample_calls(evaluation=False)
            if self.hub.sampling_calls:
                self._until = self.hub.step + UPDATES

    def on_depth(self, deep: bool) -> None:
        if not deep:
            self._outputs.clear()
            self._calls.clear()

    on_models_freed = on_end = lambda self: self.on_depth(False)

    def _take(self, judge: _Judge, calls: list[_Call]) -> None:
        """Of one step: real and generated samples that the discriminator was given in it."""
        made_by = tuple(one.made_by for one in calls)
        if any(made_by):
            judge.order = made_by
        elif len(made_by) == len(judge.order):  # the generator ran before this step was looked at
            made_by = judge.order
        real = [one for one, maker in zip(calls, made_by, strict=True) if not maker and one.score_sample is not None]
        fake = [one for one, maker in zip(calls, made_by, strict=True) if maker and one.score_sample is not None]
        if not real or not fake or real[0].spread <= 0 or fake[0].spread < 0:
            return
        first, second = real[0].score_sample, fake[0].score_sample
        assert first is not None
        assert second is not None
        both = torch.cat([first, second])
        judge.shares = judge.shares and bool(((both >= 0) & (both <= 1)).all())
        judge.samples = real[0].samples
        judge.looks += 1
        judge.widest = max(judge.widest, fake[0].spread / real[0].spread)
        self._due = round(GROWTH * self.hub.step)
        judge.generator = next(filter(None, made_by), judge.generator)
        above = (first[:, None] > second[None, :]).float().mean()
        judge.window.append(
            _Look(
                fake[0].spread / real[0].spread, self._drawn.get(judge.generator, -1.0), float(first.mean()),
                float(second.mean()), float(above),
            )
        )  # fmt: skip
        self._measure(judge)

    def _measure(self, judge: _Judge) -> None:
        self.hub.measure(
            GeneratedSamples(
                where=judge.name, generator=self._names.get(judge.generator, ""), looks=judge.looks,
                samples=judge.samples, widest=judge.widest, spreads=tuple(one.spread for one in judge.window),
                inputs=tuple(one.inputs for one in judge.window), real=tuple(one.real for one in judge.window),
                generated=tuple(one.generated for one in judge.window), above=tuple(one.above for one in judge.window),
                loss=judge.loss, shares=judge.shares,
            )
        )  # fmt: skip


def _usable(tensor: torch.Tensor) -> bool:
    return tensor.is_floating_point() and tensor.dim() >= 1 and watchable(tensor.detach())


def _rows(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.detach()[:MAX_ROWS].flatten(1) if tensor.dim() > 1 else tensor.detach()[:MAX_ROWS, None]
    return flat[:, :: max(1, flat.shape[1] // MAX_ELEMENTS)][:, :MAX_ELEMENTS]


def _scores(tensor: torch.Tensor) -> torch.Tensor:
    """One number a sample; patches of a picture are averaged."""
    flat = _rows(tensor)
    return flat.mean(1) if flat.shape[1] > 1 else flat[:, 0]


OBSERVER = Generated
