"""How far back in time a recurrent layer's gradient reaches: a rate per time step.

The last step's output is differentiated with respect to what went in at every step (of RNN, LSTM and GRU layers) or to
what the same layer gave at every earlier call (of cells and of loops written by hand). The loss plays no part: one that
looks at every step would hide how little of it travels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn.modules import module as torch_module

from traindx.measurements import RateAlong
from traindx.probes.looking import weighted
from traindx.probes.nested import tensors
from traindx.probes.subject import Subject
from traindx.reading import Chart, Line, Table
from traindx.signals.along import FEWEST, Rate, rate_along
from traindx.symptoms.rates_along import rate_measured, time_sentence

MOST_STEPS = 512  # in time: of more the last ones
SEED = 20260104


@dataclass(frozen=True)
class Memory:
    """Gradient norms of one recurrent layer from the first time step to the last."""

    layer: str
    sizes: tuple[float, ...]
    rate: Rate  # towards the last step

    @property
    def back(self) -> float:
        """What a step back in time multiplies it by."""
        return 1 / self.rate.per_layer

    def __str__(self) -> str:
        return time_sentence(self.layer, self.rate)

    def measured(self, clipped: bool) -> RateAlong:
        return rate_measured("time", self.rate, layer=self.layer, clipped=clipped)


@dataclass
class _Calls:
    inputs: list[torch.Tensor] = field(default_factory=list)
    outputs: list[torch.Tensor] = field(default_factory=list)


def memories(subject: Subject) -> Iterator[Memory]:
    """Of every recurrent layer that runs over enough time steps, on the first captured batch."""
    with _calls(subject) as calls:
        subject.loss(0)
    layers = subject.layers()
    for name, seen in calls.items():
        sizes = _through_layer(layers[name], seen) if seen.inputs else _through_calls(seen.outputs)
        rate = rate_along(sizes)
        if rate is not None:
            yield Memory(name, tuple(sizes), rate)


@contextmanager
def _calls(subject: Subject) -> Iterator[dict[str, _Calls]]:
    names = {id(module): name for name, module in subject.layers().items()}
    found: dict[str, _Calls] = {}

    def enter(module: torch.nn.Module, args: Any) -> Any:
        """Data become something that can be differentiated by."""
        if not isinstance(module, torch.nn.RNNBase) or not args or not isinstance(args[0], torch.Tensor):
            return None
        given = args[0] if args[0].requires_grad else args[0].detach().requires_grad_()
        return (given, *args[1:])

    def leave(module: torch.nn.Module, args: Any, output: Any) -> None:
        name = names.get(id(module))
        given = next((tensor for tensor in tensors(output) if tensor.requires_grad), None)
        if name is None or given is None:
            return
        if isinstance(module, torch.nn.RNNBase):
            if args and isinstance(args[0], torch.Tensor):
                found[name] = _Calls([args[0]], [given])
        elif weighted(module):
            # the cell state of an LSTM: its output is made of it
            state = output[1] if isinstance(module, torch.nn.LSTMCell) else given
            found.setdefault(name, _Calls()).outputs.append(state)

    handles = [torch_module.register_module_forward_pre_hook(enter), torch_module.register_module_forward_hook(leave)]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def _through_layer(layer: torch.nn.Module, seen: _Calls) -> list[float]:
    given, output = seen.inputs[0], seen.outputs[0]
    time = 1 if given.dim() == 3 and getattr(layer, "batch_first", False) else 0
    width = getattr(layer, "proj_size", 0) or getattr(layer, "hidden_size", output.shape[-1])
    last = output.select(time, -1)[..., :width]  # the rest of it, in two directions, has just begun
    (gradient,) = torch.autograd.grad(last, given, _cotangent(last), retain_graph=True)
    others = [dim for dim in range(gradient.dim()) if dim != time]
    return [float(size) for size in gradient.double().square().sum(others).sqrt()[-MOST_STEPS:]]


def _through_calls(outputs: list[torch.Tensor]) -> list[float]:
    """From the last call back to the first that it rests on; nothing where the calls do not follow from one another."""
    outputs = outputs[-MOST_STEPS:]
    if len(outputs) < FEWEST:
        return []
    last = outputs[-1]
    found = torch.autograd.grad(last, outputs, _cotangent(last), retain_graph=True, allow_unused=True)
    sizes: list[float] = []
    for gradient in reversed(found):
        if gradient is None:
            break
        sizes.insert(0, float(gradient.double().norm()))
    return sizes


def _cotangent(tensor: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator().manual_seed(SEED)
    return torch.randn(tensor.shape, generator=generator).to(tensor)


# --- telling
# ------------------------------------------------------------------------------------------------------------------


def time_tables(recurrent: list[Memory]) -> Iterator[Table]:
    if recurrent:
        rows = tuple((m.layer, m.rate.layers, m.back, m.rate.error * m.back, 1 / m.rate.whole) for m in recurrent)
        columns = ("layer", "time steps", "factor a step back", "±", "arrives at the first")
        yield Table("gradient of the last time step's output along time", columns, rows)


def time_charts(recurrent: list[Memory]) -> Iterator[Chart]:
    if recurrent:
        lines = tuple(
            Line(
                f"{m.layer}: ×{m.back:.3g} a step back",
                tuple(float(place - len(m.sizes) + 1) for place in range(len(m.sizes))),
                tuple(size or None for size in m.sizes),
            )
            for m in recurrent
        )
        yield Chart("Gradient of the last step along time", "time steps from the last", "norm", lines, log_y=True)
