"""Measures adapters: which low-rank pairs a model has, whether they take part and learn, and how much they add to the
matrices they stand beside."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import optimized
from traindx.live.events.places import user_frame
from traindx.live.measures.low_rank import Pair, pairs_in
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import AdapterPairs, UnusedAdapter

MAX_LOOKED = 24  # pairs whose numbers are looked at
MAX_ELEMENTS = 1 << 22  # of a base matrix whose norm is taken
EVERY = 5  # deep updates between two looks after the first ones
ADAPTERS = ("lora", "dora", "adapter")  # in names of layers that a script defines
ADAPTIVE = ("adam", "lion", "adafactor", "rmsprop")


class Adapters(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._met = -1
        self._pairs: list[Pair] = []
        self._model: torch.nn.Module | None = None
        self._held: set[int] = set()
        self._rate: float | None = None
        self._adaptive = self._backward = False
        self._looks = 0
        self._reported = False  # an adapter that is not used was looked for

    def on_backward(self, loss: torch.Tensor) -> None:
        if not self.hub.deep:
            return
        if self._met != self.hub.known.met:
            self._met = self.hub.known.met
            self._find()
        self._backward = loss.requires_grad
        if self._pairs and not self._backward:
            self._measure()  # the error that follows may end the script

    def _find(self) -> None:
        """The model with the most pairs: adapters of a reference model are none that learn."""
        found = [(model, pairs_in(model)) for model in self.hub.models.values()]
        model, self._pairs = max(found, key=lambda one: len(one[1]), default=(None, []))
        self._model = model if self._pairs else None  # what has no adapters is not held
        if not self._pairs and not self._reported:
            self._reported = True
            self._look_for_unused()

    def _look_for_unused(self) -> None:
        """The script has a layer for adapters, most of a model is frozen, and no layer of any model is of that kind."""
        frame = user_frame()
        names = frame.f_globals if frame is not None else {}
        defined = [one for one in list(names.values()) if _is_adapter(one, names.get("__name__"))]
        models = list(self.hub.models.values())
        if not defined or any(isinstance(one, tuple(defined)) for model in models for one in model.modules()):
            return
        sizes = [(p.numel(), p.requires_grad) for model in models for p in model.parameters()]
        frozen, whole = sum(size for size, learns in sizes if not learns), sum(size for size, _ in sizes)
        if frozen:
            self.hub.measure(UnusedAdapter(name=defined[0].__name__, frozen=frozen / whole))

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        self._copies.poll()
        if not self._pairs:
            return
        held = optimized([optimizer])
        if any(id(p) in held for pair in self._pairs for p in (pair.first, pair.second)):
            self._held |= held.keys()
            rates = [group["lr"] for group in optimizer.param_groups if isinstance(group.get("lr"), float)]
            self._rate = max([*rates, *([self._rate] if self._rate is not None else [])], default=None)
            self._adaptive = any(word in type(optimizer).__name__.lower() for word in ADAPTIVE)
        self._looks += 1
        if self._looks <= EVERY or self._looks % EVERY == 0:
            self._measure()

    def on_models_freed(self) -> None:
        self.on_end()
        self._pairs, self._model, self._met = [], None, -1
        self._held.clear()

    def on_end(self) -> None:
        if self._pairs and self._model is not None:
            self._pairs = pairs_in(self._model)  # which adapter is switched on may have changed since
            self._measure()
        self._copies.poll(wait=True)

    def _measure(self) -> None:
        looked = [pair for pair in self._pairs if _readable(pair)]
        looked = looked[:: (len(looked) - 1) // MAX_LOOKED + 1] if looked else []
        step = self.hub.step
        if not looked:
            self._write(step, [], [])
            return
        numbers = [one for pair in looked for one in (_product(pair), pair.base.detach().norm(), _largest(pair))]
        scales = [pair.scale if pair.scale is not None else 1.0 for pair in looked]
        device = numbers[0].device
        together = torch.stack([one.to(device).float() for one in numbers])

        def take(values: list[float]) -> None:
            products, bases, largest = values[::3], values[1::3], values[2::3]
            shares = [abs(s) * p / b for s, p, b in zip(scales, products, bases, strict=True) if b > 0]
            self._write(step, shares, largest)

        self._copies.ask(together, take)

    def _write(self, step: int, shares: list[float], largest: list[float]) -> None:
        pairs = self._pairs
        trainable = [pair for pair in pairs if pair.first.requires_grad or pair.second.requires_grad]
        scales = [pair.scale for pair in pairs if pair.scale is not None]
        blocks, with_pairs = _blocks(self._model, pairs)
        settings = list(_settings(self._model))
        self.hub.measure(
            AdapterPairs(
                pairs=len(pairs),
                trainable=len(trainable),
                held=sum(id(pair.first) in self._held or id(pair.second) in self._held for pair in trainable),
                merged=sum(pair.off == "merged" for pair in pairs),
                disabled=sum(pair.off == "disabled" for pair in pairs),
                inference=any(getattr(one, "inference_mode", False) is True for one in settings),
                backward=self._backward,
                blocks=blocks,
                blocks_with=with_pairs,
                chosen_blocks=any(getattr(one, "layers_to_transform", None) is not None for one in settings),
                ranks=(min(pair.rank for pair in pairs), max(pair.rank for pair in pairs)),
                scales=(min(scales), max(scales)) if scales else None,
                zero=sum(value == 0 for value in largest),
                looked=len(largest),
                learnt_off=sum(pair.resting and _held(pair, self._held) for pair in pairs),
                learnt_on=sum(not pair.resting and _held(pair, self._held) for pair in pairs),
                never_on=sum(not pair.resting and not _held(pair, self._held) for pair in pairs),
                shares=tuple(sorted(shares)),
                updates=step,
                rate=self._rate,
                adaptive=self._adaptive,
                where=pairs[0].module,
            )
        )


def _held(pair: Pair, held: set[int]) -> bool:
    """Whether an optimiser has updated it."""
    return id(pair.first) in held or id(pair.second) in held


def _is_adapter(found: Any, script: str | None) -> bool:
    """A layer of the script's own, by its name."""
    mine = isinstance(found, type) and issubclass(found, torch.nn.Module) and found.__module__ == script
    return mine and any(word in found.__name__.lower() for word in ADAPTERS)


def _readable(pair: Pair) -> bool:
    tensors = (pair.first, pair.second, pair.base)
    return all(watchable(one) and one.is_floating_point() for one in tensors) and pair.base.numel() <= MAX_ELEMENTS


def _product(pair: Pair) -> torch.Tensor:
    """The norm of the product, from two small Gram matrices: |BA|² is the sum of (BᵀB) * (AAᵀ)."""
    first, second = pair.first.detach().float(), pair.second.detach().float()
    first = first if first.shape[0] == pair.rank else first.t()
    second = second if second.shape[1] == pair.rank else second.t()
    return ((second.t() @ second) * (first @ first.t())).sum().clamp(min=0).sqrt()


def _largest(pair: Pair) -> torch.Tensor:
    return pair.second.detach().abs().max()


def _blocks(model: torch.nn.Module | None, pairs: list[Pair]) -> tuple[int, int]:
    """How many equal blocks the longest stack of the model has, and how many of these hold a pair."""
    stacks: dict[str, int] = defaultdict(int)
    for name, module in model.named_modules() if model is not None else ():
        if isinstance(module, torch.nn.ModuleList) and len({type(child) for child in module}) == 1:
            stacks[name] = len(module)
    if not stacks:
        return 0, 0
    name = max(stacks, key=lambda one: stacks[one])
    inside = {pair.module.removeprefix(f"{name}.").partition(".")[0] for pair in pairs if pair.module.startswith(name)}
    return stacks[name], len(inside)


def _settings(model: torch.nn.Module | None) -> Iterator[Any]:
    reported = getattr(model, "peft_config", None)
    yield from reported.values() if isinstance(reported, dict) else ()


OBSERVER = Adapters
