"""Measures what activation functions do: which of them lie between the layers, units that are zero for every sample,
and saturated outputs of a sigmoid or tanh.

All of it is read from the autograd graph of the loss on deep steps, so that `F.relu`, `x.relu()` and `nn.ReLU` are the
same.
"""

from __future__ import annotations

import re
from collections import deque
from functools import partial

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import layer_of, model_parameters
from traindx.live.measures.graph import Activation, Graph, graph_of, nearest_leaf
from traindx.live.measures.packing import Packing
from traindx.live.measures.rows import watchable
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import FlatOutputs, NetworkGraph, UnitsOn

WINDOW = 5  # looks over which units are counted together
FIRST_LOOKS = 3  # after which the start of the training has been seen
MIN_LAYERS = 2  # with weights: there is nothing between fewer
MIN_ROWS = 96  # samples (and positions) in the window, before a share of units is recorded
MAX_LAYERS = 16  # listed in one measurement
MAX_SHARES = 64
# what counts as flat: at both ends a tenth of the slope is left, or less
FLAT_TANH = 0.97
FLAT_SIGMOID = 0.03
MAX_ELEMENTS = 1 << 20  # looked at in one activation
MAX_SAMPLED_ROWS = 4096
_RECURRENT = re.compile(r"_(ih|hh)_l\d|_(ih|hh)$")

_On = tuple[int, torch.Tensor]  # rows looked at, and for each unit whether it was above zero in any of them


class Activations(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._names: dict[int, str] = {}
        self._models = -1
        self._alive: dict[str, deque[_On]] = {}
        self._units: dict[str, tuple[int, int]] = {}  # units on and rows looked at, as measured last
        self._flat: dict[str, list[torch.Tensor]] = {}  # by layer, in the first looks
        self._functions: set[str] = set()
        self._looks = self._whole = self._linear = self._layers = 0
        self._ends = ("", "")  # names of the first and the last layer
        self._packing = Packing(hub)  # packed tensors (checkpointing, offloading): reading them would run code

    def attach(self) -> None:
        self._packing.attach()

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self.hub.deep or not watchable(loss.detach()):
            return
        self._learn_names()
        graph = graph_of(loss)
        before = (self._looks, self._whole)
        self._read(graph)
        if not self._packing.seen:
            self._look_at_units(graph)
        # the graphs of later losses are much the same
        if (self._looks, self._whole) != before and (before[0] < FIRST_LOOKS or before[1] < FIRST_LOOKS):
            self._measure_graph()

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)

    def _learn_names(self) -> None:
        if self._models != self.hub.known.met:
            self._models = self.hub.known.met
            self._names = {identity: name for identity, (name, _) in model_parameters(self.hub).items()}

    # --- the whole network --------------------------------------------------------------------------------------------

    def _read(self, graph: Graph) -> None:
        if graph.in_series < MIN_LAYERS or not graph.whole or self._whole >= FIRST_LOOKS:
            return
        if graph.linear and self._partly_frozen(graph):
            return
        self._whole += 1
        self._linear += graph.linear
        self._layers = graph.in_series
        # the leaves come output side first
        names = [layer_of(name) for leaf in graph.leaves if leaf.dim() > 1 and (name := self._names.get(id(leaf)))]
        self._ends = (names[-1], names[0]) if names else ("", "")

    def _partly_frozen(self, graph: Graph) -> bool:
        """Whether a network of these parameters has frozen matrices too: what lies before the first that learns (the
        layers below an adapter or a new head) is in no graph."""
        learnt = {id(leaf) for leaf in graph.leaves}
        for model in self.hub.models.values():
            inside = list(model.parameters())
            if any(id(p) in learnt for p in inside) and any(not p.requires_grad and p.dim() > 1 for p in inside):
                return True
        return False

    def _measure_graph(self) -> None:
        self.hub.measure(
            NetworkGraph(
                looks=min(self._looks, FIRST_LOOKS),
                functions=tuple(sorted(self._functions)),
                whole=self._whole,
                linear=self._linear,
                layers=self._layers,
                first=self._ends[0],
                last=self._ends[1],
            )
        )

    # --- units --------------------------------------------------------------------------------------------------------

    def _look_at_units(self, graph: Graph) -> None:
        alive: dict[str, _On] = {}
        flat: dict[str, list[torch.Tensor]] = {}
        for activation in graph.activations:
            self._take(activation, alive, flat)
        for name, look in alive.items():
            self._note_units(name, look)
        for name, shares in flat.items():
            share = torch.stack(shares).mean()
            self.hub.record(f"saturated/{name}", share)
            if self._looks < FIRST_LOOKS:
                self._flat.setdefault(name, []).append(share)
        if self._looks < FIRST_LOOKS:
            self._functions |= {activation.kind for activation in graph.activations}
        if not graph.layers:
            return
        self._looks += 1
        if self._looks == FIRST_LOOKS:
            self._ask_flat()
            self._ask_units(list(self._alive))
        elif self._looks > FIRST_LOOKS:
            self._ask_units([name for name, (on, _) in self._units.items() if not on and name in alive])

    def _take(self, activation: Activation, alive: dict[str, _On], flat: dict[str, list[torch.Tensor]]) -> None:
        """One call of an activation function between two layers; gates and cells are meant to be shut or open."""
        leaf = nearest_leaf(activation.node)
        parameter = self._names.get(id(leaf)) if leaf is not None else None
        if not activation.hidden or activation.gate or leaf is None or parameter is None:
            return
        output = None if _RECURRENT.search(parameter) else _output_of(activation)
        if output is None:
            return
        name = f"{layer_of(parameter)}.{activation.kind}"
        if activation.kind == "relu":
            rows, on = _units_on(output, leaf)
            if name in alive and alive[name][1].shape == on.shape:
                rows, on = rows + alive[name][0], on | alive[name][1]
            alive[name] = (rows, on)
        else:
            flat.setdefault(name, []).append(_flat_share(output, activation.kind))

    def _note_units(self, name: str, look: _On) -> None:
        window = self._alive.setdefault(name, deque(maxlen=WINDOW))
        if window and window[-1][1].shape != look[1].shape:
            window.clear()
        window.append(look)
        if len(window) >= FIRST_LOOKS and sum(rows for rows, _ in window) >= MIN_ROWS:
            ever = torch.stack([on for _, on in window]).any(0)
            self.hub.record(f"dead/{name}", 1 - ever.float().mean())

    def _ask_units(self, names: list[str]) -> None:
        """How many units of each of these layers were on in the last looks."""
        if names:
            on = [torch.stack([on for _, on in self._alive[name]]).any(0).sum() for name in names]
            rows = {name: sum(rows for rows, _ in self._alive[name]) for name in names}
            self._copies.ask(torch.stack(on).float(), partial(self._measure_units, rows))

    def _measure_units(self, rows: dict[str, int], on: list[float]) -> None:
        for (name, count), units in zip(rows.items(), on, strict=True):
            self._units[name] = (int(units), count)
        fewest = sorted(self._units, key=lambda name: self._units[name][0])[:MAX_LAYERS]
        self._units = {name: self._units[name] for name in fewest}
        counts, looked = zip(*self._units.values(), strict=True)
        self.hub.measure(UnitsOn(layers=tuple(fewest), on=counts, rows=looked))

    def _ask_flat(self) -> None:
        names = [name for name, shares in self._flat.items() if len(shares) == FIRST_LOOKS]
        if names:
            least = torch.stack([torch.stack(self._flat[name]).min() for name in names])
            self._copies.ask(least, partial(self._measure_flat, names))
        self._flat.clear()

    def _measure_flat(self, names: list[str], shares: list[float]) -> None:
        order = sorted(range(len(names)), key=lambda place: -shares[place])
        kept = order[:: (len(order) - 1) // MAX_SHARES + 1]
        self.hub.measure(
            FlatOutputs(layers=len(names), shares=tuple(shares[place] for place in kept), where=names[order[0]])
        )


def _output_of(activation: Activation) -> torch.Tensor | None:
    """What the function returned, as autograd kept it for the backward pass."""
    try:
        output = activation.node._saved_result
    except (AttributeError, RuntimeError):  # another kind of node, or freed already
        return None
    return (
        output.detach() if isinstance(output, torch.Tensor) and output.numel() and watchable(output.detach()) else None
    )


def _units_on(output: torch.Tensor, leaf: torch.Tensor) -> _On:
    width = leaf.shape[0] if leaf.dim() else 1
    channel = (
        1 if output.dim() >= 3 and output.shape[1] == width and (leaf.dim() != 2 or output.shape[-1] != width) else -1
    )
    rows = output.movedim(channel, -1).reshape(-1, output.shape[channel])
    if rows.numel() > MAX_ELEMENTS or len(rows) > MAX_SAMPLED_ROWS:
        # spread over the whole batch; an odd stride does not fall in step with the positions of an image
        stride = (max(len(rows) // MAX_SAMPLED_ROWS, rows.numel() // MAX_ELEMENTS) + 1) | 1
        rows = rows[::stride]
    return len(rows), (rows > 0).any(0)


def _flat_share(output: torch.Tensor, kind: str) -> torch.Tensor:
    few = output.reshape(-1)
    if few.numel() > MAX_ELEMENTS:
        few = few[:: (few.numel() // MAX_ELEMENTS + 1) | 1]
    if kind == "tanh":
        return (few.abs() > FLAT_TANH).float().mean()
    return ((few < FLAT_SIGMOID) | (few > 1 - FLAT_SIGMOID)).float().mean()


OBSERVER = Activations
