"""Measures gradients, weights and updates by parameter on deep steps, and how many elements in half precision an update
leaves as they were. The update is the difference between a snapshot just before it and the weights just after."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.optim import Optimizer

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import layer_of, model_parameters
from traindx.live.measures.low_rank import pairs_in
from traindx.live.measures.norms import LOW, norms_of
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import UnmovedElements, WeightTypes

MAX_PARAMETERS = 60  # with series of their own
MAX_SNAPSHOT = 64 << 20  # elements copied to see an update
MAX_NAMES = 4  # of parameters that are written down


class Updates(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        # by optimiser: models known, parameters
        self._chosen: dict[int, tuple[int, list[tuple[str, torch.Tensor]]]] = {}
        self._thin: set[int] = (
            set()
        )  # second matrices of adapters: they begin at zero, and a ratio to that says nothing
        self._kinds: set[str] = set()  # of numbers in which the weights are kept
        self._before: list[torch.Tensor] = []
        self._unmoved: list[float] = []  # share of elements that stood still, for each deep update

    @on_deep_steps
    def on_step(self, optimizer: Optimizer) -> None:
        if not self.hub.deep:
            return
        chosen = self._choose(optimizer)
        gradients = [(name, p.grad) for name, p in chosen if p.grad is not None]
        norms = norms_of([gradient for _, gradient in gradients])
        weights = norms_of([p.detach() for _, p in chosen])
        for series, names, values in (
            ("grad_norm", [name for name, _ in gradients], norms),
            ("weight_norm", [name for name, _ in chosen], weights),
        ):
            if values is not None:
                self._copies.ask(values, self._taker(series, names))
        self._before = [p.detach().clone() for _, p in chosen]

    @on_deep_steps
    def on_updated(self, optimizer: Optimizer) -> None:
        if not self.hub.deep or not self._before or id(optimizer) not in self._chosen:
            return
        chosen = self._chosen[id(optimizer)][1]
        before, self._before = self._before, []
        if len(before) != len(chosen):
            return
        # one by one: residual networks have loaded this operation already, the one for lists takes a GPU 20 ms
        changes = [p.detach() - old for (_, p), old in zip(chosen, before, strict=True)]
        sizes, weights = norms_of(changes), norms_of(before)
        if sizes is not None and weights is not None:
            take = self._taker("update_ratio", [name for name, _ in chosen])
            thin = [id(p) in self._thin for _, p in chosen]

            def ratios(both: list[list[float]]) -> None:
                take([-1.0 if less else _ratio(*pair) for less, *pair in zip(thin, *both, strict=True)])

            self._copies.ask(torch.stack([sizes, weights]), ratios)
        low = [
            (p, change) for (_, p), change in zip(chosen, changes, strict=True) if p.dtype in LOW and p.grad is not None
        ]
        if low:
            self._look_for_unmoved(low, [name for name, p in chosen if p.dtype in LOW], _rate(optimizer))
        self._copies.poll()

    def _taker(self, series: str, names: list[str]) -> Callable[[list[float]], None]:
        """Records the values of this step when they arrive; a negative one stands for a weight of zero, which has no
        ratio."""
        step = self.hub.step

        def take(values: list[float]) -> None:
            for name, value in zip(names, values, strict=True):
                if not value < 0:
                    self.hub.values.add(step, f"{series}/{name}", value)

        return take

    def _look_for_unmoved(self, pairs: list[tuple[torch.Tensor, torch.Tensor]], names: list[str], rate: float) -> None:
        """The share of elements with a gradient that the update left exactly as they were."""
        if rate <= 0:
            return
        asked = torch.stack([(p.grad != 0).sum() for p, _ in pairs if p.grad is not None]).sum()
        still = torch.stack([((p.grad != 0) & (change == 0)).sum() for p, change in pairs if p.grad is not None]).sum()
        kind = str(pairs[0][0].dtype).removeprefix("torch.")

        def take(numbers: list[float]) -> None:
            if numbers[0] > 0:
                self._unmoved.append(numbers[1] / numbers[0])
                self._measure_unmoved(kind, names)

        self._copies.ask(torch.stack([asked, still]).double(), take)

    def _measure_unmoved(self, kind: str, names: list[str]) -> None:
        looks = len(self._unmoved)
        self.hub.measure(
            UnmovedElements(
                dtype=kind,
                share=sorted(self._unmoved)[looks // 2],
                looks=looks,
                names=tuple(names[:MAX_NAMES]),
                parameters=len(names),
            )
        )

    def on_models_freed(self) -> None:
        self._chosen.clear()
        self._before.clear()

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if self._kinds:
            self.hub.measure(WeightTypes(dtypes=tuple(sorted(self._kinds))))

    def _choose(self, optimizer: Optimizer) -> list[tuple[str, torch.Tensor]]:
        """The parameters with series of their own: the largest of each layer, in the order of the model."""
        known = self._chosen.get(id(optimizer))
        if known is not None and known[0] == self.hub.known.met:
            return known[1]
        named = model_parameters(self.hub)
        held = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
        order = {identity: index for index, identity in enumerate(named)}
        held.sort(key=lambda p: order.get(id(p), len(order)))
        pairs = [(named[id(p)][0] if id(p) in named else f"group.{index}", p) for index, p in enumerate(held)]
        if len(pairs) > MAX_PARAMETERS:
            largest: dict[str, tuple[str, torch.Tensor]] = {}
            for name, p in pairs:
                layer = layer_of(name)
                if layer not in largest or p.numel() > largest[layer][1].numel():
                    largest[layer] = (name, p)
            pairs = list(largest.values())
        if len(pairs) > MAX_PARAMETERS:
            pairs = [pairs[round(i * (len(pairs) - 1) / (MAX_PARAMETERS - 1))] for i in range(MAX_PARAMETERS)]
        room = MAX_SNAPSHOT
        fitting = []
        for name, p in pairs:
            room -= p.numel()
            if room >= 0 and type(p) in (torch.Tensor, torch.nn.Parameter) and not p.is_complex():
                fitting.append((name, p))
        self._chosen[id(optimizer)] = (self.hub.known.met, fitting)
        self._thin = {id(pair.second) for model in self.hub.models.values() for pair in pairs_in(model)}
        self._kinds |= {str(p.dtype).removeprefix("torch.") for _, p in fitting}
        return fitting


def _ratio(change: float, weight: float) -> float:
    return change / weight if weight > 0 else -1.0


def _rate(optimizer: Optimizer) -> float:
    rate = optimizer.param_groups[0].get("lr", 0.0)
    return float(rate) if isinstance(rate, int | float) else 1.0


OBSERVER = Updates
