"""Measures the weights a training starts from: whether the units of a layer differ, and their size for its width."""

from __future__ import annotations

import math
import re
from functools import partial

import torch

from traindx.live.events.hub import Hub
from traindx.live.events.instrument import Observer, on_deep_steps
from traindx.live.events.naming import model_parameters, optimized
from traindx.live.measures.low_rank import pairs_in
from traindx.live.measures.norms import norms_of
from traindx.live.measures.rows import watchable
from traindx.live.measures.tensors import TABLES, weight_of
from traindx.live.recording.async_copy import AsyncCopy
from traindx.measurements import InitialScales, InitialUnits, InitialZeros, ZerosLater

LAYERS = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
TRANSPOSED = torch.nn.modules.conv._ConvTransposeNd
RECURRENT = (torch.nn.RNNBase, torch.nn.RNNCellBase)
NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm)
MAX_MATRICES = 200  # looked at
MAX_ELEMENTS = 1 << 16  # of one matrix,
MAX_ELEMENTS_ON_DEVICE = 1 << 12  # or of one that lies on a device,
MAX_UNITS_ON_DEVICE = 256  # of so many units
MAX_SCALES = 100  # written in one measurement
MAX_NAMES = 5
LATER = 8  # updates after which matrices of zeros are looked at again: a zero behind a zero waits one update more
_ON_PURPOSE = re.compile(r"lora|adapter|pos|token|embed|query|mask|scale|gamma|beta|gate", re.IGNORECASE)
_BIAS = re.compile(r"bias\b", re.IGNORECASE)  # of several heads at once it is a matrix, and begins at zero as any bias

_Matrix = tuple[str, torch.Tensor, int]  # name, weights, fan-in


class Initialisation(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._copies = AsyncCopy()
        self._done = False
        self._without_side: set[str] = set()  # matrices of which it is not known on which side their units lie
        self._zeros: list[torch.Tensor] = []  # matrices that hold zeros only before the first update

    @on_deep_steps
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self._zeros and self.hub.step >= LATER:
            self._look_again()
        if self._done:
            return
        self._done = True
        self._look_for_zeros(optimizer)
        if not self.hub.models:
            self._compare_numbers(optimizer)
            return
        matrices = self._matrices(set(optimized([optimizer])))
        if matrices:
            self._look(matrices)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._copies.poll()

    def on_end(self) -> None:
        self._copies.poll(wait=True)
        if self._zeros and self.hub.step:
            self._look_again()
            self._copies.poll(wait=True)

    def _layers(self) -> list[torch.nn.Module]:
        return [layer for model in self.hub.models.values() for layer in model.modules()]

    def _matrices(self, held: set[int]) -> list[_Matrix]:
        """The weight matrices that are about to be trained, with their fan-in, in the order of the model."""
        layers = self._layers()
        owners = {id(weight_of(layer)): layer for layer in layers if isinstance(layer, LAYERS)}
        recurrent = {id(p) for layer in layers if isinstance(layer, RECURRENT) for p in layer.parameters(recurse=False)}
        vectors = {id(p) for layer in layers if isinstance(layer, TABLES) for p in layer.parameters()}
        thin = self._thin()
        found = []
        for identity, (name, parameter) in model_parameters(self.hub).items():
            if identity not in held - vectors - thin or not parameter.requires_grad or not watchable(parameter):
                continue
            own = identity in owners and not isinstance(owners[identity], TRANSPOSED)
            raw = identity not in owners and parameter.dim() == 2 and min(parameter.shape) >= 2
            if (own or raw) and not _ON_PURPOSE.search(name) and not _BIAS.search(name):
                known = own or identity in recurrent  # of others it is not known on which side their units lie
                if not known:
                    self._without_side.add(name)
                fan_in = parameter[0].numel() if known else max(parameter.shape)
                found.append((name, parameter.detach(), fan_in))
        return found[:MAX_MATRICES]

    def _thin(self) -> set[int]:
        """One of an adapter's two is zero on purpose, the other is sized for the rank and not for a layer."""
        return {id(p) for model in self.hub.models.values() for one in pairs_in(model) for p in (one.first, one.second)}

    def _look_for_zeros(self, optimizer: torch.optim.Optimizer) -> None:
        """Matrices of zeros behind each other: each keeps the gradient from the other, and none can begin to learn. The
        zeros of an adapter stand beside a matrix of random numbers."""
        thin = self._thin()
        named = {identity: name for identity, (name, _) in model_parameters(self.hub).items()}
        tables = [
            p
            for p in optimized([optimizer]).values()
            if p.dim() >= 2
            and p.grad is not None
            and watchable(p)
            and id(p) not in thin
            and not _BIAS.search(named.get(id(p), ""))
        ][:MAX_MATRICES]
        gradients = [p.grad for p in tables if p.grad is not None]
        weights, slopes = norms_of([p.detach() for p in tables]), norms_of(gradients)
        if weights is None or slopes is None:
            return
        names = [named.get(id(p), f"parameter {place}") for place, p in enumerate(tables)]

        def measure(both: list[list[float]]) -> None:
            zero = [name for name, *sizes in zip(names, *both, strict=True) if not any(sizes)]
            self.hub.measure(InitialZeros(matrices=len(names), zero=len(zero), names=tuple(zero[:MAX_NAMES])))

        self._copies.ask(torch.stack([weights, slopes]), measure)

    def _compare_numbers(self, optimizer: torch.optim.Optimizer) -> None:
        """Parameters without modules: on which side the units lie is not known, so that all numbers are compared."""
        tables = {f"parameter {place}": one for place, one in enumerate(optimized([optimizer]).values())}
        hidden = {
            name: one for name, one in tables.items() if one.dim() >= 2 and min(one.shape) >= 2 and watchable(one)
        }
        names = list(hidden)[:MAX_MATRICES]
        matrices = [(name, hidden[name].detach(), _widest_side(hidden[name])) for name in names]

        def measure(numbers: list[list[float]]) -> None:
            equal = [(name, high) for name, (low, high, _) in zip(names, numbers[:-1], strict=False) if low == high]
            self._measure_units(len(names) - 1, equal, by_unit=False)
            self._measure_scales(matrices, [[std, high - low, high] for low, high, std in numbers])

        if len(names) > 1:
            numbers = [torch.stack([*torch.aminmax(one), one.std(unbiased=False)]) for _, one, _ in matrices]
            self._copies.ask(torch.stack(numbers), measure)

    def _look(self, matrices: list[_Matrix]) -> None:
        """Weights on a GPU are looked at in host memory: a look needs a dozen operations, some of them new there."""
        device = matrices[0][1].device
        some = [_some(weight).to(device) for _, weight, _ in matrices]
        shapes = [one.shape for one in some]
        whole = torch.cat([one.reshape(-1) for one in some])
        self._copies.to_host(whole, partial(self._measure, matrices, shapes))

    def _measure(self, matrices: list[_Matrix], shapes: list[torch.Size], values: torch.Tensor) -> None:
        parts = torch.split_with_sizes(values, [shape.numel() for shape in shapes])
        tables = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
        rows = [torch.stack([one.std(unbiased=False), (one - one[:1]).abs().max(), one.abs().max()]) for one in tables]
        numbers = torch.stack(rows).tolist()
        hidden = [entry for entry in list(zip(matrices, numbers, strict=True))[:-1] if len(entry[0][1]) >= 2]
        if hidden:
            # rows that are equal are units that are equal only where rows are units
            equal = [
                (name, most)
                for (name, _, _), (std, apart, most) in hidden
                if apart == 0 and (std == 0 or name not in self._without_side)
            ]
            self._zeros = [weight for (_, weight, _), (_, _, most) in hidden if not most]
            self._measure_units(len(hidden), equal, by_unit=True)
        self._measure_scales(matrices, numbers)

    def _measure_units(self, matrices: int, equal: list[tuple[str, float]], *, by_unit: bool) -> None:
        """The matrices in which all units are the same, each with its largest number."""
        names = tuple(name for name, _ in equal[:MAX_NAMES])
        nonzero = sum(most != 0 for _, most in equal)
        self.hub.measure(
            InitialUnits(matrices=matrices, equal=len(equal), nonzero=nonzero, names=names, by_unit=by_unit)
        )

    def _look_again(self) -> None:
        """Whether the units of those matrices that held zeros differ by now."""
        tables, self._zeros, updates = self._zeros, [], self.hub.step
        apart = [(one - one[:1]).abs().amax() for one in map(_some, tables)]

        def measure(differences: list[float]) -> None:
            equal = sum(not one for one in differences)
            self.hub.measure(ZerosLater(matrices=len(differences), equal=equal, updates=updates))

        self._copies.ask(torch.stack(apart), measure)

    def _measure_scales(self, matrices: list[_Matrix], numbers: list[list[float]]) -> None:
        sized = [
            (std * math.sqrt(fan_in), name)
            for (name, _, fan_in), (std, apart, _) in zip(matrices, numbers, strict=True)
            if apart > 0
        ]
        if not sized:
            return
        loop, loop_name = max((pair for pair in sized if "weight_hh" in pair[1]), default=(0.0, ""))
        self.hub.measure(
            InitialScales(
                layers=len(sized),
                scales=tuple(scale for scale, _ in sized[:: (len(sized) - 1) // MAX_SCALES + 1]),
                loop=loop,
                loop_name=loop_name,
                widest=matrices[max(range(len(matrices)), key=lambda place: numbers[place][0])][0],
                first=matrices[0][0],
                normalised=any(isinstance(layer, NORMS) for layer in self._layers()),
            )
        )


def _widest_side(weight: torch.Tensor) -> int:
    """The fan-in of a matrix that may be either way round: of networks that narrow it is the larger side."""
    return max(weight.shape) if weight.dim() == 2 else weight[0].numel()


def _some(weight: torch.Tensor) -> torch.Tensor:
    """A few weights of each unit."""
    units = weight.flatten(1) if weight.is_cpu else weight.flatten(1)[:MAX_UNITS_ON_DEVICE]
    most = MAX_ELEMENTS if weight.is_cpu else MAX_ELEMENTS_ON_DEVICE
    return units[:, : max(1, most // len(units))].float()


OBSERVER = Initialisation
