"""Measures which parameters learn: those that a loss reaches and no optimiser holds, those that are frozen, and those
that an optimiser holds and no gradient reaches."""

from __future__ import annotations

import itertools
import math
import re
import time
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from traindx.live.events.budget import FIRST_DEEP
from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import layer_of, model_parameters, optimized
from traindx.live.host.ranks import is_sharded
from traindx.live.instruments.optimizers import built
from traindx.live.measures.detached import used_layers
from traindx.live.measures.graph import graph_of
from traindx.live.measures.loads import Loads
from traindx.live.measures.low_rank import pairs_in
from traindx.live.measures.norms import norms_of
from traindx.live.measures.rows import watchable
from traindx.live.measures.silent import SilentOptimizers
from traindx.live.measures.tensors import wants_gradients, weight_of
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import (
    FrozenParameters,
    FrozenTable,
    LoadedWeights,
    MissedWeights,
    SilentParameters,
    UnheldParameters,
)

MIN_LOOKS = 3  # deep updates before parameters are listed: a model takes some time to walk through
MIN_SILENT_LOOKS = 5  # the same for gradients, while it trains: a head that is trained in turns may be missed in three
MAX_LOOKS = 20  # deep updates after which parameters are listed once more only, in the end
WALK_SECONDS = 0.5  # between two walks through the parameters, a microsecond each
MAX_CALLS_STEP = 50  # the step until which it is noted which layers run
MAX_TRIALS = 4  # models that are tried once: of which layers without a gradient the output depends on
MAX_NAMES = 4  # of parameters that are written down
MAX_LIBRARIES = 16
MAX_TABLES = 8  # frozen embeddings that are looked at
MAX_ROWS, MAX_COLUMNS = 4096, 64  # of each
MIN_ROWS, MIN_COLUMNS = 8, 2  # fewer have no moments to speak of
SAMPLE = 64  # elements of a parameter that are compared to see it move
LAYERS = (torch.nn.Linear, torch.nn.modules.conv._ConvNd, torch.nn.RNNBase, torch.nn.MultiheadAttention)
_ADAPTER = re.compile(r"lora|adapter|prefix|prompt", re.IGNORECASE)

Named = dict[int, tuple[str, torch.nn.Parameter]]


class Parameters(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._looks: dict[int, int] = {}  # deep updates by optimiser, since the newest of them is there
        self._newest = 0  # when that was
        self._parts: dict[int, frozenset[int]] = {}  # the parameters of each model at the last walk
        self._next_walk = 0.0
        self._held: set[int] = set()  # parameters of every optimiser that was ever seen (it may be gone at the end)
        self._reached: dict[int, torch.nn.Parameter] = {}  # parameters some loss has reached
        self._first: dict[int, torch.Tensor] = {}  # a few numbers of those no optimiser holds, when first seen
        self._silent: dict[int, int] = {}  # deep updates without a gradient, by parameter
        self._heard: set[int] = set()
        self._stops: set[str] = set()  # operations on the way to a loss that may let no gradient through
        self._zero: set[int] = set()  # parameters whose gradient was there, and zero
        self._copies = AsyncCopy()
        self._called: set[int] = set()  # parameters of layers that ran with gradients on,
        self._muted: set[int] = set()  # or with gradients off, in training mode
        self._loads = Loads(hub)
        self._optimizers = SilentOptimizers(hub)
        self._tried: set[int] = set()  # models, by their ids
        self._used: dict[int, torch.Tensor] = {}  # silent ones that an output depends on, and a few of their numbers
        self._named: Named = {}  # by id, for when the models themselves are gone

    def attach(self) -> None:
        self._loads.attach(self)

    def on_module(self, module: torch.nn.Module, name: str, args: tuple[Any, ...], output: Any) -> None:
        if self.hub.step < MAX_CALLS_STEP and (self.hub.grad or module.training):
            ran = self._called if self.hub.grad else self._muted
            ran.update(id(p) for p in module._parameters.values() if p is not None)

    def on_forward(self, model: torch.nn.Module, args: tuple[Any, ...], kwargs: dict[str, Any], output: Any) -> None:
        if not self._silent or len(self._tried) >= MAX_TRIALS or not self.hub.grad or not wants_gradients(output):
            return
        ran = {i for i, looks in self._silent.items() if looks >= MIN_LOOKS and i in self._called}
        silent = ran - self._reached.keys()
        alone = not (torch.distributed.is_available() and torch.distributed.is_initialized())
        if (
            silent
            and alone
            and id(model) not in self._tried
            and not isinstance(model, torch.nn.parallel.DistributedDataParallel)
        ):
            self._tried.add(id(model))
            for layer in used_layers(getattr(model, "_orig_mod", model), args, kwargs, output, silent):
                for p in layer.parameters(recurse=False):
                    if id(p) in silent:
                        self._used[id(p)] = p.detach().flatten()[:SAMPLE].clone()

    def on_backward(self, loss: torch.Tensor) -> None:
        if (self.hub.deep and self.hub.step < self.hub.newest + 10 * FIRST_DEEP) or self._optimizers.wants_graph():
            graph = graph_of(loss)
            self._optimizers.followed()
            self._stops |= graph.stops
            for leaf in graph.leaves:
                if isinstance(leaf, torch.nn.Parameter):
                    self._reached[id(leaf)] = leaf

    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        self._optimizers.at_update(optimizer)
        if time.monotonic() > self._next_walk:
            self._look_for_new_layers()
        if not self.hub.deep:
            return
        if self.hub.newest != self._newest:
            self._newest = self.hub.newest
            self._looks.clear()
        self._looks[id(optimizer)] = self._looks.get(id(optimizer), 0) + 1
        if self._stops:
            self._look_for_zeros([p for group in optimizer.param_groups for p in group["params"] if p.grad is not None])
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    if not self._stops:
                        self._heard_from(parameter)
                elif parameter.requires_grad and id(parameter) not in self._heard:
                    self._silent[id(parameter)] = self._silent.get(id(parameter), 0) + 1

    def _look_for_new_layers(self) -> None:
        """A layer that was replaced or added after the training began may be in no optimiser."""
        parts = {key: frozenset(map(id, model.parameters())) for key, model in self.hub.models.items()}
        if any(ids - self._parts[key] for key, ids in parts.items() if key in self._parts):
            self.hub.look_again()
        self._parts = parts
        self._next_walk = time.monotonic() + WALK_SECONDS

    def _heard_from(self, parameter: torch.Tensor) -> None:
        self._heard.add(id(parameter))
        self._silent.pop(id(parameter), None)

    def _look_for_zeros(self, held: list[torch.Tensor]) -> None:
        """Behind an operation that lets none through, a gradient is there and exactly zero."""
        norms = norms_of([p.grad for p in held if p.grad is not None])

        def take(values: list[float]) -> None:
            for parameter, value in zip(held, values, strict=True):
                if value:
                    self._heard_from(parameter)
                elif id(parameter) not in self._heard:
                    self._zero.add(id(parameter))
                    self._silent[id(parameter)] = self._silent.get(id(parameter), 0) + 1

        if norms is not None:
            self._copies.ask(norms, take)
        else:  # they lie on several devices, or are of a kind of their own
            take([1.0] * len(held))

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()
        self._held |= optimized([optimizer]).keys() | self.hub.by_hand.originals
        if self.hub.deep and MIN_LOOKS <= self._looks.get(id(optimizer), 0) <= MAX_LOOKS:
            self._measure(MIN_SILENT_LOOKS)

    def on_models_freed(self) -> None:
        self.on_end()
        for counts in (self._looks, self._reached, self._first, self._silent, self._used):
            counts.clear()
        self._tried.clear()
        for ids in (self._held, self._heard, self._called, self._muted, self._zero):
            ids.clear()
        self._optimizers.clear()
        self._named, self._parts = {}, {}

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if self.hub.step >= MIN_LOOKS and self._looks:
            self._measure(MIN_LOOKS)

    def _measure(self, silent_looks: int) -> None:
        self._named = named = model_parameters(self.hub) or self._named
        layers = (layer for model in self.hub.models.values() for layer in model.modules())
        libraries = sorted({type(layer).__module__.partition(".")[0] for layer in layers})
        self.hub.measure(LoadedWeights(loaded=self._loads.loaded, libraries=tuple(libraries[:MAX_LIBRARIES])))
        if not is_sharded(self.hub.models.values()):
            self._measure_unheld(named)
        self._measure_frozen(named)
        self._optimizers.measure(self._reached, self._called, self._muted)
        if (self._heard or self._silent) and max(self._looks.values(), default=0) >= silent_looks:
            self._measure_silent(named, silent_looks)

    def _measure_unheld(self, named: Named) -> None:
        """Parameters some loss reaches and no optimiser holds, and that nothing else moves either."""
        self._held |= optimized(built).keys()
        if not self._reached:
            return
        unheld: dict[int, torch.nn.Parameter] = {}
        for identity, parameter in self._reached.items():
            if identity in self._held or not parameter.requires_grad or not parameter.is_leaf:
                continue
            few = parameter.detach().flatten()[:SAMPLE]
            if torch.equal(self._first.setdefault(identity, few.clone()), few):
                unheld[identity] = parameter
        names = (named[i][0] if i in named else f"a parameter of shape {tuple(p.shape)}" for i, p in unheld.items())
        self.hub.measure(
            UnheldParameters(
                reached=len(self._reached),
                reached_weights=_elements(self._reached.values()),
                unheld=len(unheld),
                unheld_weights=_elements(unheld.values()),
                registered=sum(identity in named for identity in unheld),
                names=_first_names(names),
                head_only=bool(unheld) and self._holds_only_the_last(named),
                built_at=self._made_at() if unheld else "",
            )
        )

    def _made_at(self) -> str:
        """file:line where the optimisers that took a step were made, if all were made at one."""
        places = {place for optimizer, place in built.items() if id(optimizer) in self._looks}
        return places.pop() if len(places) == 1 else ""

    def _holds_only_the_last(self, named: Named) -> bool:
        mine = [layer_of(name) for identity, (name, _) in named.items() if identity in self._held]
        return len(set(mine)) == 1 and layer_of(list(named.values())[-1][0]) == mine[-1]

    def _measure_frozen(self, named: Named) -> None:
        layers = list(self._layers_in_training())
        matrices = [p for layer in layers if isinstance(layer, LAYERS) for p in self._matrices_of(layer)]
        tables = [
            weight
            for layer in layers
            if isinstance(layer, torch.nn.Embedding)
            and (weight := weight_of(layer)) is not None
            and id(weight) in self._called
            and self._never_learnt(weight)
            and watchable(weight)
        ][:MAX_TABLES]
        if not matrices and not tables:
            return
        frozen = [p for p in matrices if self._never_learnt(p)]
        sizes = [_size_by_fan_in(p) for p in frozen]
        trainable = [name for name, p in named.values() if p.requires_grad]
        self.hub.measure(
            FrozenParameters(
                matrices=len(matrices),
                weights=_elements(matrices),
                frozen_matrices=len(frozen),
                frozen_weights=_elements(frozen),
                names=_first_names(_name(p, named) for p in frozen),
                peaks=_range([peak for peak, _ in sizes]),
                spreads=_range([spread for _, spread in sizes]),
                tables=tuple(_name(table, named) for table in tables if self._measure_table(table, named)),
                trainable=_first_names(trainable),
                trainable_parameters=len(trainable),
                adapters=self._adapters(named),
                missed=self._missed(frozen, named),
            )
        )

    def _adapters(self, named: Named) -> int:
        """Trainable parameters of adapters, by their structure or their name."""
        paired = {
            id(p) for model in self.hub.models.values() for one in pairs_in(model) for p in (one.first, one.second)
        }
        return sum(p.requires_grad and (i in paired or bool(_ADAPTER.search(name))) for i, (name, p) in named.items())

    def _never_learnt(self, parameter: torch.Tensor) -> bool:
        """Frozen, and not after an earlier part of the training in which it had gradients."""
        return not parameter.requires_grad and id(parameter) not in self._heard

    def _missed(self, frozen: list[torch.nn.Parameter], named: Named) -> MissedWeights | None:
        missed = [p for p in frozen if self._loads.missed(p)]
        sizes = [_size_by_fan_in(p) for p in missed]
        peaks, spreads = _range([peak for peak, _ in sizes]), _range([spread for _, spread in sizes])
        if peaks is None or spreads is None:
            return None
        names = _first_names(_name(p, named) for p in missed)
        return MissedWeights(len(missed), _elements(missed), names, peaks, spreads, self._loads.where)

    def _layers_in_training(self) -> Iterator[torch.nn.Module]:
        """Layers of models of which something is trained: a teacher or a copy that never is does not count."""
        for model in self.hub.models.values():
            inside = list(model.parameters())
            if any(p.requires_grad for p in inside) and any(id(p) in self._reached for p in inside):
                yield from model.modules()

    def _matrices_of(self, layer: torch.nn.Module) -> list[torch.nn.Parameter]:
        return [p for p in layer.parameters(recurse=False) if p.dim() >= 2 and id(p) in self._called]

    def _measure_table(self, table: torch.Tensor, named: Named) -> bool:
        """The moments of an embedding, if it has enough elements for them. torch need not have loaded vectors that were
        learnt elsewhere, but they differ in length and lean to some directions, while new ones are plain noise."""
        few = table.detach()[:MAX_ROWS, :MAX_COLUMNS].float()
        few = few[few.abs().amax(1) > 0]  # the row of the padding
        rows, columns = few.shape
        if rows < MIN_ROWS or columns < MIN_COLUMNS:
            return False
        z = (few - few.mean()) / few.std()
        moments = torch.stack([z.pow(4).mean(), z.square().mean(1).var(), z.mean(0).square().mean()]).tolist()
        if not all(map(math.isfinite, moments)):
            return False
        self.hub.measure(
            FrozenTable(
                weights=table.numel(),
                rows=rows,
                columns=columns,
                kurtosis=moments[0],
                length_variance=moments[1],
                common=moments[2],
                where=_name(table, named),
            )
        )
        return True

    def _measure_silent(self, named: Named, looks: int) -> None:
        """Trainable parameters of layers that ran, held by an optimiser, that no gradient has ever reached."""
        known = {i: named[i] for i in (*self._heard, *self._silent) if i in named}
        without = {
            i: one
            for i, one in known.items()
            if self._silent.get(i, 0) >= looks and (i not in self._reached or i in self._zero)
        }
        silent = {i: one for i, one in without.items() if i in self._called}
        muted = {i: one for i, one in without.items() if i in self._muted and i not in silent}
        used = {i: one for i, one in silent.items() if i in self._used and self._stood_still(i, one[1])}
        first = next((i for i, (_, p) in named.items() if p.dim() > 1 and i in known), 0)
        self.hub.measure(
            SilentParameters(
                looks=looks,
                parameters=len(known),
                weights=_elements(p for _, p in known.values()),
                matrices=sum(p.dim() > 1 for _, p in known.values()),
                silent=_counted(silent),
                names=_first_names(name for name, _ in silent.values()),
                used=_counted(used),
                used_names=_first_names(name for name, _ in used.values()),
                muted=_counted(muted),
                muted_names=_first_names(name for name, _ in muted.values()),
                first_matrix="silent" if first in silent else "muted" if first in muted else "",
                zero=len(self._zero & (silent.keys() | muted.keys())),
                stops=tuple(sorted(self._stops)[:MAX_NAMES]),
            )
        )

    def _stood_still(self, identity: int, parameter: torch.Tensor) -> bool:
        """What is averaged by hand, such as a codebook, needs no gradient."""
        return torch.equal(self._used[identity], parameter.detach().flatten()[:SAMPLE])


def _elements(parameters: Iterable[torch.Tensor]) -> int:
    return sum(p.numel() for p in parameters)


def _counted(named: Named) -> tuple[int, int, int]:
    """Parameters, their elements, and those that are matrices."""
    parameters = [p for _, p in named.values()]
    return len(parameters), _elements(parameters), sum(p.dim() > 1 for p in parameters)


def _first_names(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(itertools.islice(names, MAX_NAMES))


def _name(parameter: torch.Tensor, named: Named) -> str:
    return named[id(parameter)][0] if id(parameter) in named else ""


def _range(values: list[float]) -> tuple[float, float] | None:
    return (min(values), max(values)) if values else None


def _size_by_fan_in(weight: torch.Tensor) -> tuple[float, float]:
    """The largest element by the limit of torch's default initialisation, 1 / sqrt(fan-in), and the standard deviation
    by that of uniform numbers up to this limit."""
    few = weight.detach().float()
    limit = (weight.numel() / weight.shape[0]) ** -0.5
    most, spread = torch.stack([few.abs().max(), few.std(correction=min(1, few.numel() - 1))]).tolist()
    return most / limit, spread * 3**0.5 / limit


OBSERVER = Parameters
