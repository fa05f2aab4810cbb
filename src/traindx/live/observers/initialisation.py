"""The weights a training starts from: all equal, or of a size that no layer of that width bears."""

from __future__ import annotations

import math
import re
from functools import partial
from statistics import median

import torch

from traindx.live.hub import Hub
from traindx.live.later import Later
from traindx.live.naming import listed, model_parameters, optimized
from traindx.live.norms import norms_of
from traindx.live.observer import Observer, on_deep_steps
from traindx.live.rows import watchable

LAYERS = (torch.nn.Linear, torch.nn.modules.conv._ConvNd)
RECURRENT = (torch.nn.RNNBase, torch.nn.RNNCellBase)
NORMS = (torch.nn.modules.batchnorm._NormBase, torch.nn.LayerNorm, torch.nn.GroupNorm)
MOST = 200  # matrices looked at
SAMPLE = 1 << 16  # numbers of one matrix,
FEW = 1 << 12  # or of one that lies on a device,
UNITS = 256  # of so many units
LARGE, LARGE_PLAIN = 3.5, 6.0  # std · √fan-in; 1.4 for He, 1 for Xavier, 0.6 for torch's own
SMALL, SMALL_PLAIN = 0.05, 0.01
SMALL_TOGETHER = 0.1  # in each layer, where no normalisation helps,
FADED = -4.0  # and this power of ten through all of them,
FADED_CLEAR = 0.6  # which is plainer than the size of one
VANISHED = 1e-3  # smaller than what norm layers add under their root: they do not restore it
HE = math.sqrt(2)  # the scale that keeps a ReLU network's signal
LOOP, LOOP_PLAIN = 1.4, 2.2  # of a recurrent matrix: 1 for an orthogonal one or the identity, 0.6 for torch's own
GAIN, GAIN_PLAIN = 3.0, 6.0  # powers of ten by which the signal grows on its way through layers without norms
LARGER, GROWS = 2.0, 1.5  # both at once: each layer beyond any usual start, and a signal that grows thirtyfold
BOTH = 2  # matrices of zeros without a gradient
CONSTANT_SHARE = 0.5  # of the hidden matrices
_ON_PURPOSE = re.compile(r"lora|adapter|pos|token|embed|query|mask|scale|gamma|beta|gate", re.IGNORECASE)


class Initialisation(Observer):
    def __init__(self, hub: Hub) -> None:
        super().__init__(hub)
        self._later = Later()
        self._done = False

    @on_deep_steps
    def on_step(self, optimizer: torch.optim.Optimizer) -> None:
        if self._done:
            return
        self._done = True
        self._look_for_nothing(optimizer)
        if not self.hub.models:
            self._judge_bare(optimizer)
            return
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        matrices = self._matrices(held)
        if matrices:
            self._look(matrices)

    @on_deep_steps
    def on_updated(self, optimizer: torch.optim.Optimizer) -> None:
        self._later.poll()

    def on_end(self) -> None:
        self._later.poll(wait=True)

    def _matrices(self, held: set[int]) -> list[tuple[str, torch.Tensor, int]]:
        """The weight matrices that are about to be trained, with their fan-in, in the order of the model."""
        owners = {
            id(layer.weight): layer
            for model in self.hub.models.values()
            for layer in model.modules()
            if isinstance(layer, LAYERS)
        }
        recurrent = {
            id(p)
            for model in self.hub.models.values()
            for layer in model.modules()
            if isinstance(layer, RECURRENT)
            for p in layer.parameters(recurse=False)
        }
        norms = {
            id(p)
            for m in self.hub.models.values()
            for layer in m.modules()
            if isinstance(layer, torch.nn.Embedding)
            for p in layer.parameters()
        }
        found = []
        for identity, (name, parameter) in model_parameters(self.hub).items():
            if identity not in held or identity in norms or not parameter.requires_grad or not watchable(parameter):
                continue
            own = identity in owners and not owners_transposed(owners[identity])
            raw = identity not in owners and parameter.dim() == 2 and min(parameter.shape) >= 2
            if (own or raw) and not _ON_PURPOSE.search(name):
                known = own or identity in recurrent  # of others it is not known on which side their units lie
                fan_in = parameter[0].numel() if known else max(parameter.shape)
                found.append((name, parameter.detach(), fan_in))
        return found[:MOST]

    def _look_for_nothing(self, optimizer: torch.optim.Optimizer) -> None:
        """Matrices of zeros one behind the other: each keeps the gradient from the other, and none can begin to learn."""
        tables = [p for p in optimized([optimizer]).values() if p.dim() >= 2 and p.grad is not None and watchable(p)][
            :MOST
        ]
        gradients = [p.grad for p in tables if p.grad is not None]
        weights, slopes = norms_of([p.detach() for p in tables]), norms_of(gradients)
        if weights is None or slopes is None:
            return
        named = model_parameters(self.hub)
        names = [named[id(p)][0] if id(p) in named else f"parameter {place}" for place, p in enumerate(tables)]

        def take(both: list[list[float]]) -> None:
            nothing = [name for name, *sizes in zip(names, *both, strict=True) if not any(sizes)]
            if len(nothing) >= BOTH:
                self.hub.fact(
                    "equal-initial-weights", True,
                    f"{listed(nothing)} hold zeros only when training begins and get a gradient of exactly zero: none of them can begin to learn.",
                    where=nothing[0],
                )  # fmt: skip

        self._later.ask(torch.stack([weights, slopes]), take)

    def _judge_bare(self, optimizer: torch.optim.Optimizer) -> None:
        """Parameters without modules: which side of a matrix its units lie on is not known, but one number everywhere is."""
        tables = [(f"parameter {place}", one) for place, one in enumerate(optimized([optimizer]).values())]
        hidden = [
            (name, one.detach()) for name, one in tables if one.dim() >= 2 and min(one.shape) >= 2 and watchable(one)
        ]
        hidden = hidden[:MOST][:-1]
        if hidden:
            ends = torch.stack([torch.stack(torch.aminmax(one)) for _, one in hidden]).tolist()
            equal = [name for (name, _), (low, high) in zip(hidden, ends, strict=True) if low == high]
            few = len(equal) < CONSTANT_SHARE * len(hidden)
            text = (
                f"{len(equal)} of {len(hidden)} hidden weight matrices hold one number everywhere when training begins"
            )
            names = f" ({listed(equal)})" if equal else ""
            self.hub.fact("equal-initial-weights", not few, f"{text}{names}.", where=None if few else equal[0])

    def _look(self, matrices: list[tuple[str, torch.Tensor, int]]) -> None:
        """Weights on a GPU are looked at in host memory: a look at each needs a dozen operations, of which some are new there."""
        device = matrices[0][1].device
        some = [_some(weight, SAMPLE if weight.is_cpu else FEW).to(device) for _, weight, _ in matrices]
        shapes = [one.shape for one in some]
        whole = torch.cat([one.reshape(-1) for one in some])
        self._later.bring(whole, partial(self._judge, matrices, shapes))

    def _judge(
        self, matrices: list[tuple[str, torch.Tensor, int]], shapes: list[torch.Size], values: torch.Tensor
    ) -> None:
        parts = torch.split_with_sizes(values, [shape.numel() for shape in shapes])
        tables = [part.view(shape) for part, shape in zip(parts, shapes, strict=True)]
        rows = [torch.stack([one.std(unbiased=False), (one - one[:1]).abs().max(), one.abs().max()]) for one in tables]
        numbers = torch.stack(rows).tolist()
        self._judge_symmetry(matrices, numbers)
        self._judge_size(matrices, numbers)

    def _judge_symmetry(self, matrices: list[tuple[str, torch.Tensor, int]], numbers: list[list[float]]) -> None:
        """All units of a layer start with the same weights. The last layer may: its units differ by their targets."""
        hidden = list(zip(matrices, numbers, strict=True))[:-1]
        hidden = [entry for entry in hidden if len(entry[0][1]) >= 2]
        if not hidden:
            return
        equal = [(name, most) for (name, _, _), (_, apart, most) in hidden if apart == 0]
        nonzero = [name for name, most in equal if most > 0]
        if len(equal) < CONSTANT_SHARE * len(hidden) and not nonzero:
            zero = f" ({len(equal)} start at zero, as residual branches do)" if equal else ""
            self.hub.fact(
                "equal-initial-weights",
                False,
                f"The units of {len(hidden) - len(equal)} of {len(hidden)} hidden layers start from different weights{zero}.",
            )
            return
        names = [name for name, _ in equal]
        self.hub.fact(
            "equal-initial-weights", True,
            f"In {len(equal)} of {len(hidden)} hidden weight matrices all units start with the same weights ({listed(names)}"
            f"{'' if nonzero else ', all zero'}): they will stay copies of each other.",
            where=names[0], clarity=1.0 if len(equal) >= CONSTANT_SHARE * len(hidden) else 0.7,
        )  # fmt: skip

    def _judge_size(self, matrices: list[tuple[str, torch.Tensor, int]], numbers: list[list[float]]) -> None:
        sized = [
            (name, std * math.sqrt(fan_in))
            for (name, _, fan_in), (std, apart, _) in zip(matrices, numbers, strict=True)
            if apart > 0
        ]
        if not sized:
            return
        names, scales = [name for name, _ in sized], [scale for _, scale in sized]
        middle = median(scales)
        normed = any(isinstance(layer, NORMS) for model in self.hub.models.values() for layer in model.modules())
        gain = 0.0 if normed else len(scales) * math.log10(max(middle, 1e-12) / HE)
        loop = max((scale for name, scale in zip(names, scales, strict=True) if "weight_hh" in name), default=0.0)
        grows = gain > GAIN or (middle > LARGER and gain > GROWS)
        large = middle > LARGE or grows or loop > LOOP
        text = f"The initial weights have a standard deviation of {middle:.2g}/√fan-in in the middle of {len(scales)} layers (usual 0.3 to 1.5)"
        worst = matrices[max(range(len(matrices)), key=lambda i: numbers[i][0])][0]
        through = f", which multiplies a signal by {_times(gain)} on its way" if grows else ""
        if loop > LOOP:
            worst = names[max(range(len(names)), key=lambda i: scales[i] * ("weight_hh" in names[i]))]
            through += f"; {worst} multiplies the state of a sequence by about {loop:.2g} at every step"
        self.hub.fact(
            "initial-weights-large", large, f"{text}{through}.", where=worst if large else None,
            clarity=max(_ramp(middle, LARGE, LARGE_PLAIN), _ramp(gain, GAIN, GAIN_PLAIN), _ramp(loop, LOOP, LOOP_PLAIN)),
        )  # fmt: skip
        size = _ramp(-math.log10(max(middle, 1e-12)), -math.log10(SMALL), -math.log10(SMALL_PLAIN))
        rescued = normed and middle > VANISHED
        faded = middle < SMALL_TOGETHER and gain < FADED
        small = middle < SMALL or faded
        through = f", which leaves 1e{gain:.0f} of a signal on its way" if faded else ""
        self.hub.fact(
            "initial-weights-small", small, f"{text}{through}.", where=matrices[0][0] if small else None,
            clarity=max(size, FADED_CLEAR * faded) * (0.5 if rescued else 1.0),
        )  # fmt: skip


def _some(weight: torch.Tensor, most: int) -> torch.Tensor:
    """A few weights of each unit."""
    units = weight.flatten(1) if weight.is_cpu else weight.flatten(1)[:UNITS]
    return units[:, : max(1, most // len(units))].float()


def _times(power: float) -> str:
    return f"1e{power:.0f}" if power >= GAIN else f"{10**power:.0f}"


def owners_transposed(layer: torch.nn.Module) -> bool:
    return isinstance(layer, torch.nn.modules.conv._ConvTransposeNd)


def _ramp(value: float, start: float, plain: float) -> float:
    """0.4 at the threshold, 1 where it is plain."""
    return min(1.0, max(0.4, 0.4 + 0.6 * (value - start) / (plain - start)))


OBSERVER = Initialisation
