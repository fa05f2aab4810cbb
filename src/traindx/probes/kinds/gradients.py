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

from traindx.probes.base import Deadline, Probe
from traindx.probes.depth import Rate, backwards, rate_along
from traindx.probes.looking import Seen, looking
from traindx.probes.moments import Moments
from traindx.probes.recurrence import Memory, memories, time_charts, time_facts, time_tables
from traindx.probes.subject import Step, Subject
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.run import Fact
from traindx.symptoms.base import clarity, num

ID = "gradients"
FADED = 1e-4  # of the gradient left at the first layer: stricter than the 1e-3 that is asked of a whole recording
STRONG_FADED = 1e-8
SURE = 5.0  # standard errors a rate must be away from 1
MOST_UNREACHED = 0.5  # of all trained numbers without a gradient: not an unused head but a broken graph


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
            return _detached(subject)
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
    facts = _facts(parameters, totals, sizes, rate, used)
    return Reading(
        ID, _summary(totals, sizes, rate, used, recurrent),
        tuple(time_facts(facts, recurrent, subject.clip is not None)),
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


def _facts(
    parameters: dict[str, torch.Tensor],
    totals: dict[str, _Total],
    sizes: dict[str, float],
    rate: Rate | None,
    used: int,
) -> list[Fact]:
    facts: list[Fact] = []
    broken = next((name for name, total in totals.items() if total.nonfinite), None)
    facts.append(
        Fact("nonfinite-gradient", False, f"All gradients of {used} batches are finite.") if broken is None
        else Fact("nonfinite-gradient", True, f"{totals[broken].nonfinite} of the gradient's values of {broken} are "
                                              f"not finite.", broken)
    )  # fmt: skip
    missing = [name for name, total in totals.items() if not total.reached]
    lost = sum(parameters[name].numel() for name in missing) / max(sum(p.numel() for p in parameters.values()), 1)
    if not missing and all(total.norm > 0 for total in totals.values()):
        facts.append(Fact("no-gradient", False, f"All {len(totals)} trained parameters receive a gradient."))
    elif lost > MOST_UNREACHED:
        sentence = f"{len(missing)} of {len(totals)} trained parameters ({lost:.0%} of all numbers) receive no gradient"
        facts.append(Fact("no-gradient", True, f"{sentence}: the loss does not depend on {missing[0]}.", missing[0]))
    if rate is not None and broken is None:
        facts += _flow_facts(sizes, rate)
    return facts


def _flow_facts(sizes: dict[str, float], rate: Rate) -> list[Fact]:
    first, last = next(iter(sizes)), list(sizes)[-1]
    fades, grows = rate.whole > 1 / FADED, rate.whole < FADED
    sentence = f"{backwards(rate).written} over {rate.layers} layers (from {last} to {first})"
    sure = rate.certainty >= SURE
    left = 1 / max(rate.whole, 1e-300)
    facts = []
    if fades and sure:
        facts.append(
            Fact("vanishing-gradients", True, f"The gradient fades towards the input: {sentence}; {num(left)} of it is "
                                              f"left at {first}.", first,
                 clarity=clarity(-math.log10(left), -math.log10(FADED), -math.log10(STRONG_FADED)))
        )  # fmt: skip
    elif not fades:
        facts.append(Fact("vanishing-gradients", False, f"The gradient keeps its size along the depth: {sentence}."))
    if grows and sure:
        facts.append(
            Fact(
                "exploding-gradients",
                True,
                f"The gradient grows towards the input: {sentence}, {num(left)} times in all.",
                first,
                clarity=clarity(math.log10(left), -math.log10(FADED), -math.log10(STRONG_FADED)),
            )
        )
    elif not grows:
        facts.append(Fact("exploding-gradients", False, f"The gradient does not grow along the depth: {sentence}."))
    return facts


def _detached(subject: Subject) -> Reading:
    sentence = "The loss does not depend on any trained parameter: nothing connects them in the graph."
    return Reading(ID, sentence, (Fact("no-gradient", True, sentence, next(iter(subject.parameters()), None)),))


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
        floor = max(sizes.values()) * FADED if sizes else 0.0
        marks = (Mark(floor, f"{FADED:g} of the largest", "y"),) if floor > 0 else ()
        charts.append(Chart("Gradient flow along the depth", "", "norm", tuple(lines), marks, tuple(sizes), log_y=True))
    return tuple(charts)


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2] if values else math.nan


PROBE = Probe(ID, "gradients", measure, seconds=8.0)
