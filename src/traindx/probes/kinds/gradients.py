"""Show how large the gradients are, layer by layer, and whether they fade or grow along the depth.

Two sizes are measured. Of the parameters: norm, mean, spread, largest value, zeros. Along the depth: the norm of the
gradient with respect to each layer's output. That one compares across shapes: with weights of variance 1/fan_in it
stays the same through any chain of linear or convolutional layers, whatever their widths, while the norm of a weight's
own gradient grows with its size. Recurrent layers are followed along time as well."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import torch

from traindx.measurements import GradientsReceived, Measurement, NumbersSeen
from traindx.probes.base import Deadline, Probe
from traindx.probes.looking import Seen, looking
from traindx.probes.moments import Moments
from traindx.probes.recurrence import Memory, memories, time_charts, time_tables
from traindx.probes.subject import Step, Subject
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.signals.along import Rate, rate_along
from traindx.symptoms.base import num
from traindx.symptoms.no_gradient import NO_GRAPH
from traindx.symptoms.rates_along import FADED, rate_measured

ID = "gradients"


@dataclass
class _Total(Moments):
    """Of one parameter over all batches."""

    reached: bool = False
    norms: list[float] = field(default_factory=list)

    def add(self, gradient: torch.Tensor) -> None:
        good = self.take(gradient.coalesce().values() if gradient.is_sparse else gradient)
        self.reached = True
        self.norms.append(float(good.norm()))

    @property
    def norm(self) -> float:
        return sum(self.norms) / max(len(self.norms), 1)


def measure(subject: Subject, deadline: Deadline) -> Reading:
    parameters = {name: p for name, p in subject.parameters().items() if p.requires_grad}
    totals = {name: _Total() for name in parameters}
    flow: dict[str, list[float]] = defaultdict(list)
    used = 0
    for step in subject.steps:
        if used and deadline.passed:
            break
        used += 1
        loss, outputs = _forward(subject, step)
        if not loss.requires_grad:
            return _detached(subject, parameters)
        wanted = [*parameters.values(), *outputs.values()]
        found = torch.autograd.grad(loss, wanted, allow_unused=True)
        for name, gradient in _reached(parameters, found[: len(parameters)]):
            totals[name].add(gradient)
        for name, gradient in _reached(outputs, found[len(parameters) :]):
            flow[name].append(float(gradient.double().norm()))
    sizes = {name: _middle(norms) for name, norms in flow.items()}
    rate = rate_along(list(sizes.values()))
    unknown = [] if rate is not None else ["The rate along the depth: fewer than 4 layers follow one another."]
    try:
        recurrent = list(memories(subject))
    except RuntimeError as error:  # a kernel that cannot be differentiated in this mode
        recurrent = []
        unknown.append(f"The rate along time: {str(error).splitlines()[0][:160]}")
    clipped = subject.clip is not None
    measured = (*_measurements(parameters, totals, sizes, rate, used), *(one.measured(clipped) for one in recurrent))
    return Reading(
        ID, _summary(totals, sizes, rate, used, recurrent), measured=measured,
        tables=(*_tables(totals, sizes), *time_tables(recurrent)),
        charts=(*_charts(totals, sizes, rate), *time_charts(recurrent)), unknown=tuple(unknown),
    )  # fmt: skip


def _forward(subject: Subject, step: Step) -> tuple[torch.Tensor, dict[str, torch.Tensor]]:
    """The loss of a step and what each layer gave on the way, where a gradient comes back to it."""
    outputs: dict[str, torch.Tensor] = {}

    def keep(seen: Seen) -> None:
        if seen.output.requires_grad:
            outputs[seen.name] = seen.output  # of a shared layer the last call: nearest to the loss

    with looking(subject, keep, functions=False):
        loss = subject.loss(step)
    return loss, outputs


def _reached(names: Iterable[str], gradients: Sequence[torch.Tensor | None]) -> Iterator[tuple[str, torch.Tensor]]:
    """The gradients that there are, by name."""
    for name, gradient in zip(names, gradients, strict=True):
        if gradient is not None:
            yield name, gradient


def _measurements(
    parameters: dict[str, torch.Tensor],
    totals: dict[str, _Total],
    sizes: dict[str, float],
    rate: Rate | None,
    used: int,
) -> Iterator[Measurement]:
    broken = next((name for name, total in totals.items() if total.nonfinite), "")
    nonfinite = totals[broken].nonfinite if broken else 0
    yield NumbersSeen(what="gradients", nonfinite=nonfinite, batches=used, where=broken)
    missing = [name for name, total in totals.items() if not total.reached]
    yield GradientsReceived(
        parameters=len(totals),
        weights=sum(p.numel() for p in parameters.values()),
        without=len(missing),
        without_weights=sum(parameters[name].numel() for name in missing),
        zero=sum(total.reached and not total.norm > 0 for total in totals.values()),
        where=next(iter(missing), ""),
    )
    if rate is not None:
        yield rate_measured("gradient", rate, next(iter(sizes)), list(sizes)[-1])


def _detached(subject: Subject, parameters: dict[str, torch.Tensor]) -> Reading:
    weights = sum(p.numel() for p in parameters.values())
    found = GradientsReceived(
        parameters=len(parameters), weights=weights, without=len(parameters), without_weights=weights, zero=0,
        connected=False, where=next(iter(subject.parameters()), ""),
    )  # fmt: skip
    return Reading(ID, NO_GRAPH, measured=(found,))


def _summary(
    totals: dict[str, _Total], sizes: dict[str, float], rate: Rate | None, used: int, recurrent: list[Memory]
) -> str:
    norms = [total.norm for total in totals.values() if total.reached]
    whole = math.sqrt(sum(norm**2 for norm in norms))
    text = f"{len(norms)} of {len(totals)} parameters receive a gradient; its norm is {num(whole)} over {used} batches."
    for memory in recurrent:
        text += f" Along time {memory}."
    if rate is None:
        return text
    word = "fades" if rate.per_layer > 1 else "grows"
    return (
        f"{text} Towards the input it {word} by {1 / rate.per_layer:.3g} ± {rate.error / rate.per_layer:.1g} a "
        f"layer ({rate.layers} layers)."
    )


def _tables(totals: dict[str, _Total], sizes: dict[str, float]) -> tuple[Table, ...]:
    rows = tuple(
        (name, t.norm, t.mean, t.std, t.largest, t.percent(t.zeros), t.percent(t.nonfinite)) if t.reached
        else (name, None, None, None, None, None, None)
        for name, t in totals.items()
    )  # fmt: skip
    table = Table(
        "gradient of each parameter", ("parameter", "norm", "mean", "std", "largest", "zeros %", "non-finite %"), rows
    )
    flow = Table("gradient at each layer's output, in order of execution", ("layer", "norm"), tuple(sizes.items()))
    return (table, flow) if sizes else (table,)


def _charts(totals: dict[str, _Total], sizes: dict[str, float], rate: Rate | None) -> tuple[Chart, ...]:
    reached = {name: total for name, total in totals.items() if total.reached}
    places = tuple(float(i) for i in range(len(reached)))
    charts = [
        Chart(
            "Gradient of each parameter", "", "size", log_y=True, names=tuple(reached),
            lines=(
                Line("norm", places, tuple(t.norm or None for t in reached.values())),
                Line("largest", places, tuple(t.largest or None for t in reached.values()), "points"),
                Line("std", places, tuple(t.std or None for t in reached.values()), "faint"),
            ),
        )
    ]  # fmt: skip
    if len(sizes) > 1:
        x = tuple(float(i) for i in range(len(sizes)))
        lines = [Line("norm at the layer's output", x, tuple(size or None for size in sizes.values()))]
        if rate is not None:
            level = _middle(
                [
                    math.log(size) - math.log(rate.per_layer) * i
                    for i, size in enumerate(sizes.values())
                    if size > 0 and math.isfinite(size)
                ]
            )
            lines.append(
                Line(rate.written, x, tuple(math.exp(level + math.log(rate.per_layer) * i) for i in x), "faint")
            )
        left = 10.0**-FADED.value
        floor = max(sizes.values()) * left if sizes else 0.0
        marks = (Mark(floor, f"{left:g} of the largest", "y"),) if floor > 0 else ()
        charts.append(Chart("Gradient flow along the depth", "", "norm", tuple(lines), marks, tuple(sizes), log_y=True))
    return tuple(charts)


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else math.nan


PROBE = Probe(ID, "gradients", measure, seconds=8.0)
