"""What activation functions do: units that are off for every input, units at the flat ends of a sigmoid or tanh, and
networks without any activation function between their layers.

All of it is read from the autograd graph of the loss on deep steps, so that `F.relu`, `x.relu()` and `nn.ReLU` are the same.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any

import torch

from traindx.live.graph import Activation, Graph, graph_of, nearest_leaf
from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.naming import layer_of, listed, model_parameters
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.rows import watchable

WINDOW = 5  # looks over which a unit must be off to count as dead
LOOKS = 3
ROWS = 96  # samples (and positions) seen in the window before a unit is called dead
LAYER_ROWS = 24  # before a layer of which every unit is off is
FLAT_TANH = 0.97
FLAT = 0.6  # of a hidden layer's outputs at the flat ends in the first looks: it starts saturated
FLAT_SIGMOID = 0.03  # and its mirror image: both leave a tenth of the slope
SAMPLE = 1 << 20  # elements looked at in one activation
SAMPLE_ROWS = 4096
LINEAR_LOOKS = 2
_RECURRENT = re.compile(r"_(ih|hh)_l\d|_(ih|hh)$")


class Activations(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._names: dict[int, str] = {}
        self._models = -1
        self._alive: dict[str, deque[tuple[int, torch.Tensor]]] = {}
        self._flat: dict[str, list[torch.Tensor]] = {}  # by layer, in the first looks
        self._off: tuple[str, ...] = ()  # layers all of whose units were off from the start
        self._kinds: set[str] = set()
        self._looked = 0
        self._linear: list[int] = []
        self._linear_told = False
        self._hooked = False  # saved tensors are packed (checkpointing, offloading): reading them would run code

    def attach(self) -> None:
        self.hub.patch(torch.autograd.graph.saved_tensors_hooks, "__enter__", self._around_hooks)

    def _around_hooks(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def __enter__(hooks: Any) -> Any:
            self._hooked = True
            return original(hooks)

        return __enter__

    @on_deep_steps
    def on_backward(self, loss: torch.Tensor) -> None:
        if not self.hub.deep or not watchable(loss.detach()):
            return
        graph = graph_of(loss)
        self._look_for_linearity(graph)
        if not self._hooked:
            self._look_at_units(graph)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        if self.hub.deep:
            self._later.poll()

    # --- units --------------------------------------------------------------------------------------------------------

    def _look_at_units(self, graph: Graph) -> None:
        if self._models != self.hub.known.met:
            self._models = self.hub.known.met
            self._names = {identity: name for identity, (name, _) in model_parameters(self.hub).items()}
        alive: dict[str, tuple[int, torch.Tensor]] = {}
        flat: dict[str, list[torch.Tensor]] = {}
        for activation in graph.activations:
            leaf = nearest_leaf(activation.node)
            parameter = self._names.get(id(leaf)) if leaf is not None else None
            if (
                not activation.hidden
                or activation.gate
                or leaf is None
                or parameter is None
                or _RECURRENT.search(parameter)
            ):
                continue
            output = _output_of(activation)
            if output is None:
                continue
            name = f"{layer_of(parameter)}.{activation.kind}"
            if activation.kind == "relu":
                rows, on = _units_on(output, leaf)
                if name in alive and alive[name][1].shape == on.shape:
                    rows, on = rows + alive[name][0], on | alive[name][1]
                alive[name] = (rows, on)
            else:
                flat.setdefault(name, []).append(_flat_share(output, activation.kind))
        for name, look in alive.items():
            self._note_units(name, look)
        for name, shares in flat.items():
            share = torch.stack(shares).mean()
            self.hub.record(f"saturated/{name}", share)
            if self._looked < LOOKS:
                self._flat.setdefault(name, []).append(share)
        self._kinds |= {activation.kind for activation in graph.activations}
        if graph.layers >= 2:
            self._looked += 1
            if self._looked == LOOKS:
                self._judge_kinds()
                names = [name for name, window in self._alive.items() if sum(rows for rows, _ in window) >= LAYER_ROWS]
                self._ask_units(names, self._judge_layers)
            elif self._off:
                self._ask_units([name for name in self._off if name in alive], self._judge_again)

    def _judge_kinds(self) -> None:
        """What cannot be, since there is no such function, and layers that start saturated; what comes later shows in the
        series."""
        if "relu" not in self._kinds:
            self.hub.fact("dead-units", False, "No ReLU lies between the loss and the parameters.")
        if not self._kinds & {"sigmoid", "tanh"}:
            self.hub.fact("saturated-units", False, "No sigmoid or tanh lies between the loss and the parameters.")
        names = [name for name, shares in self._flat.items() if len(shares) == LOOKS]
        if names:
            self._later.ask(
                torch.stack([torch.stack(self._flat[name]).min() for name in names]), partial(self._judge_start, names)
            )
        self._flat.clear()

    def _judge_start(self, names: list[str], shares: list[float]) -> None:
        flat = [(name, share) for name, share in zip(names, shares, strict=True) if share > FLAT]
        if 2 * len(flat) < len(names) or not flat:
            return
        worst = max(flat, key=lambda pair: pair[1])
        self.hub.fact(
            "saturated-units", True,
            f"From the first step, {len(flat)} of {len(names)} hidden layers have more than {FLAT * 100:.0f} % of their outputs at the flat "
            f"ends of their function; {worst[0]} has {worst[1] * 100:.0f} %.", where=worst[0], clarity=1.0 if worst[1] > 0.8 else 0.7,
        )  # fmt: skip

    def _ask_units(self, names: list[str], then: Callable[[list[str], list[float]], None]) -> None:
        """How many units of each of these layers were on in the last looks."""
        if names:
            on = [torch.stack([on for _, on in self._alive[name]]).any(0).sum() for name in names]
            self._later.ask(torch.stack(on).float(), partial(then, names))

    def _judge_layers(self, names: list[str], on: list[float]) -> None:
        """A layer without a single unit that is on gets no gradient, nor do those before it."""
        self._off = tuple(name for name, count in zip(names, on, strict=True) if not count)
        if self._off:
            self.hub.fact(
                "dead-units", True,
                f"From the first step, every unit of {listed(self._off)} is zero for every sample: no gradient passes.",
                where=self._off[0],
            )  # fmt: skip

    def _judge_again(self, names: list[str], on: list[float]) -> None:
        if any(on):
            self._off = ()
            self.hub.fact("dead-units", False, f"Units of {listed(names)} that were off at the start came on.")

    def _note_units(self, name: str, look: tuple[int, torch.Tensor]) -> None:
        window = self._alive.setdefault(name, deque(maxlen=WINDOW))
        if window and window[-1][1].shape != look[1].shape:
            window.clear()
        window.append(look)
        if len(window) >= LOOKS and sum(rows for rows, _ in window) >= ROWS:
            ever = torch.stack([on for _, on in window]).any(0)
            self.hub.record(f"dead/{name}", 1 - ever.float().mean())

    # --- the whole network --------------------------------------------------------------------------------------------

    def _look_for_linearity(self, graph: Graph) -> None:
        if self._linear_told or not graph.whole or graph.layers < 2:
            return
        self._linear.append(graph.layers if graph.linear else 0)
        if len(self._linear) < LINEAR_LOOKS:
            return
        self._linear_told = True
        if all(self._linear):
            layers = [layer_of(name) for leaf in graph.leaves if leaf.dim() > 1 and (name := self._names.get(id(leaf)))]
            self.hub.fact(
                "no-nonlinearity", True,
                f"{graph.layers} layers with weights follow one another ({listed(dict.fromkeys(reversed(layers)))}) and there is no activation "
                "function between any two of them: together they are one linear layer.",
                where=layers[-1] if layers else None, clarity=1.0 if graph.layers >= 3 else 0.85,
            )  # fmt: skip
        else:
            self.hub.fact("no-nonlinearity", False, "There are non-linear functions between the layers.")

    def on_end(self) -> None:
        self._later.poll(wait=True)


def _output_of(activation: Activation) -> torch.Tensor | None:
    """What the function returned, as autograd kept it for the backward pass."""
    try:
        output = activation.node._saved_result
    except (AttributeError, RuntimeError):  # another kind of node, or freed already
        return None
    return (
        output.detach() if isinstance(output, torch.Tensor) and output.numel() and watchable(output.detach()) else None
    )


def _units_on(output: torch.Tensor, leaf: torch.Tensor) -> tuple[int, torch.Tensor]:
    """How many rows were looked at, and for each unit whether it was above zero in any of them."""
    width = leaf.shape[0] if leaf.dim() else 1
    channel = (
        1 if output.dim() >= 3 and output.shape[1] == width and (leaf.dim() != 2 or output.shape[-1] != width) else -1
    )
    rows = output.movedim(channel, -1).reshape(-1, output.shape[channel])
    if rows.numel() > SAMPLE or len(rows) > SAMPLE_ROWS:
        # spread over the whole batch; an odd stride does not fall in step with the positions of an image
        stride = (max(len(rows) // SAMPLE_ROWS, rows.numel() // SAMPLE) + 1) | 1
        rows = rows[::stride]
    return len(rows), (rows > 0).any(0)


def _flat_share(output: torch.Tensor, kind: str) -> torch.Tensor:
    few = output.reshape(-1)
    if few.numel() > SAMPLE:
        few = few[:: (few.numel() // SAMPLE + 1) | 1]
    if kind == "tanh":
        return (few.abs() > FLAT_TANH).float().mean()
    return ((few < FLAT_SIGMOID) | (few > 1 - FLAT_SIGMOID)).float().mean()


OBSERVER = Activations
