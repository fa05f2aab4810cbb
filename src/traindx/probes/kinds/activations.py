"""Show what each layer puts out: dead and saturated units, dead filters, rank, and whether the signal survives."""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch

from traindx.probes.base import Deadline, Probe
from traindx.probes.looking import Seen, looking
from traindx.probes.moments import Moments
from traindx.probes.subject import Subject
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.run import Fact
from traindx.signals.along import Rate, rate_along
from traindx.symptoms.base import clarity, num, percent

ID = "activations"
ROWS = 96  # samples (and positions) over which a unit must be off to count as dead
SAMPLE_ROWS = 4096  # of one batch
RANK_ROWS = 512  # for the spectrum of a layer's outputs
FLAT_TANH, FLAT_SIGMOID = 0.97, 0.03  # both leave about a tenth of the slope
FLAT_GELU = -4.0  # an input below it gives GELU and SiLU less than 2 % of their slope
DEAD, PLAIN_DEAD = 0.5, 0.9  # of a layer's units
FLAT, PLAIN_FLAT = 0.6, 0.9  # of a layer's outputs
SATURATING = ("tanh", "sigmoid", "hardtanh", "hardsigmoid")
DYING = ("relu", "relu6", "gelu", "silu")
CHANGE = 1e-4  # of the signal that varies with the input left (or its inverse) from the first layer to the last
PLAIN_CHANGE = 1e-8
SURE = 5.0
ALIKE = 1e-6  # the spread over samples, relative to the size: outputs do not depend on the input


@dataclass
class Layer(Moments):
    """One layer or activation function over all batches."""

    kind: str = "layer"
    rows: int = 0
    alive: torch.Tensor | None = None  # by unit: ever away from its dead end
    flat: float = 0.0
    signal: float = math.nan  # the spread over samples, root mean square over units
    rank: float = math.nan
    units: int = 0
    filters: bool = False
    alike: bool = False

    @property
    def dead(self) -> float | None:
        """The share of units that were off in every row; None where that says nothing."""
        if self.alive is None or self.rows < ROWS:
            return None
        return 1.0 - float(self.alive.float().mean())

    def add(self, seen: Seen) -> None:
        output = seen.output.detach()
        good = self.take(output)
        rows = as_rows(good, seen.unit)
        if self.units and rows.shape[1] != self.units:
            return
        self.units, self.filters = rows.shape[1], seen.unit == 1 and output.dim() >= 3
        self.rows += len(rows)
        if self.kind in DYING and seen.input is not None:
            given = as_rows(seen.input.detach(), seen.unit)
            on = (given > (FLAT_GELU if self.kind in ("gelu", "silu") else 0.0)).any(0)
            self.alive = on if self.alive is None else self.alive | on
        if self.kind in SATURATING:
            self.flat += float(_flat(good, self.kind).sum())
        if math.isnan(self.signal) and len(rows) > 1:
            self._spread(rows, output)

    def _spread(self, rows: torch.Tensor, output: torch.Tensor) -> None:
        samples = as_samples(output.double())
        spread = samples.std(0, unbiased=False) if len(samples) > 1 else torch.zeros(1)
        self.signal = float(spread.square().mean().sqrt())
        self.alike = len(samples) > 1 and self.signal <= ALIKE * float(samples.abs().mean())
        few = rows[:: max(1, len(rows) // RANK_ROWS)][:RANK_ROWS]
        self.rank = effective_rank(few)


def measure(subject: Subject, deadline: Deadline) -> Reading:
    layers: dict[str, Layer] = {}
    outputs: list[torch.Tensor] = []
    used = 0
    for step in subject.steps:
        if used and deadline.passed:
            break
        used += 1

        def keep(seen: Seen) -> None:
            if seen.output.numel():
                layers.setdefault(seen.name, Layer(kind=seen.kind)).add(seen)

        with torch.no_grad(), looking(subject, keep):
            outcome = subject.outcome(step)
        outputs += [output.detach() for output in outcome.outputs if output.dim()]
    if not layers:
        reason = "No layer of a module was called: the model is made of plain functions."
        return Reading(ID, f"not measured: {reason}", unknown=(reason,))
    chain = {name: layer for name, layer in layers.items() if layer.kind == "layer"}
    rate = rate_along([layer.signal for layer in chain.values()])
    last = next(reversed(layers.values()))
    return Reading(
        ID, _summary(layers, rate, used), tuple(_facts(layers, chain, rate, used, last)),
        tables=(_table(layers),), charts=_charts(layers, chain, rate),
        unknown=() if sum(layer.rows for layer in layers.values()) >= ROWS else (f"Dead units: fewer than {ROWS} rows "
                                                                                 f"were seen.",),
    )  # fmt: skip


def _facts(layers: dict[str, Layer], chain: dict[str, Layer], rate: Rate | None, used: int, last: Layer) -> list[Fact]:
    facts = [_broken(layers, used)]
    if facts[0].present:
        return facts
    inner = {name: layer for name, layer in layers.items() if layer is not last}
    dying = {name: layer.dead for name, layer in inner.items() if layer.dead is not None}
    functions = {layer.kind for layer in layers.values()} - {"layer"}
    if dying:
        facts.append(_dead(dying, layers))
    elif functions and not functions & set(DYING):
        facts.append(Fact("dead-units", False, "No activation function of the model can switch a unit off for good."))
    flat = {name: layer.flat / max(layer.count, 1) for name, layer in inner.items() if layer.kind in SATURATING}
    if flat:
        facts.append(_saturated(flat))
    elif functions and not functions & set(SATURATING):
        facts.append(Fact("saturated-units", False, "The model has no hidden sigmoid or tanh units."))
    if rate is not None:
        facts += _signal(chain, rate)
    hidden = [layer for layer in chain.values() if not math.isnan(layer.signal)][:-1]
    if len(hidden) >= 1 and last.rows > 1 and not math.isnan(last.signal):
        # a last layer that starts at zero makes every output alike; what reaches it must be alike too
        collapsed = last.alike and hidden[-1].alike
        if collapsed:
            facts.append(
                Fact(
                    "prediction-collapse",
                    True,
                    f"The output is the same for every sample (it varies by {num(last.signal)}), and so is what the "
                    f"last hidden layer gives.",
                )
            )
        elif not last.alike:
            facts.append(
                Fact("prediction-collapse", False, f"The output differs from sample to sample by {num(last.signal)}.")
            )
    return facts


def _broken(layers: dict[str, Layer], used: int) -> Fact:
    name = next((name for name, layer in layers.items() if layer.nonfinite), None)
    if name is None:
        return Fact("nonfinite-activation", False, f"All activations of {used} batches are finite.")
    return Fact(
        "nonfinite-activation",
        True,
        f"{name} is the first layer with values that are not finite ({layers[name].nonfinite}).",
        name,
    )


def _dead(dying: dict[str, float], layers: dict[str, Layer]) -> Fact:
    name, share = max(dying.items(), key=lambda pair: pair[1])
    layer = layers[name]
    sentence = (
        f"{percent(share)} of the {layer.units} {'filters' if layer.filters else 'units'} of {name} are off in all "
        f"{layer.rows} rows seen"
    )
    if share >= DEAD and layer.units >= 4:
        return Fact(
            "dead-units",
            True,
            f"{sentence}, the most of {len(dying)} layers.",
            name,
            clarity=clarity(share, DEAD, PLAIN_DEAD),
        )
    return Fact("dead-units", False, f"{sentence}: the most of any layer.", name)


def _saturated(flat: dict[str, float]) -> Fact:
    name, share = max(flat.items(), key=lambda pair: pair[1])
    many = sum(one > FLAT for one in flat.values())
    sentence = f"{percent(share)} of the outputs of layer {name} are saturated"
    if 2 * many >= len(flat) and many:
        return Fact(
            "saturated-units",
            True,
            f"{sentence}; {many} of {len(flat)} layers have more than {percent(FLAT)}.",
            name,
            clarity=clarity(share, FLAT, PLAIN_FLAT),
        )
    return Fact("saturated-units", False, f"{sentence}, the most of {len(flat)} layers.", name)


def _signal(chain: dict[str, Layer], rate: Rate) -> list[Fact]:
    first, last = next(iter(chain)), list(chain)[-1]
    sentence = (
        f"What varies with the input changes by {rate.written} from {first} to {last} ({rate.layers} layers): at "
        f"the end it is {num(rate.whole)} times as large"
    )
    sure = rate.certainty >= SURE
    facts = []
    for identifier, over in (("signal-fades", rate.whole < CHANGE), ("signal-grows", rate.whole > 1 / CHANGE)):
        if over and sure:
            clear = clarity(abs(math.log10(max(rate.whole, 1e-300))), -math.log10(CHANGE), -math.log10(PLAIN_CHANGE))
            facts.append(Fact(identifier, True, f"{sentence}.", last, clarity=clear))
        elif not over:
            facts.append(Fact(identifier, False, f"{sentence}.", last))
    return facts


def _summary(layers: dict[str, Layer], rate: Rate | None, used: int) -> str:
    text = f"{len(layers)} layers and activation functions over {used} batches."
    worst = max(((layer.dead or 0.0, name) for name, layer in layers.items()), default=(0.0, ""))
    if worst[0] > 0:
        text += f" Most dead units: {percent(worst[0])} in {worst[1]}."
    if rate is not None:
        text += f" What varies with the input changes by {rate.written} ({rate.layers} layers)."
    return text


def _table(layers: dict[str, Layer]) -> Table:
    rows = tuple(
        (
            name, layer.kind, layer.mean, layer.std, layer.largest, layer.percent(layer.zeros),
            None if layer.dead is None else round(100 * layer.dead, 1),
            layer.percent(layer.flat) if layer.kind in SATURATING else None,
            layer.signal, layer.rank,
        )
        for name, layer in layers.items()
    )  # fmt: skip
    columns = ("layer", "kind", "mean", "std", "largest", "zeros %", "dead %", "saturated %", "signal", "rank")
    return Table("outputs, in order of execution", columns, rows)


def _charts(layers: dict[str, Layer], chain: dict[str, Layer], rate: Rate | None) -> tuple[Chart, ...]:
    places = tuple(float(i) for i in range(len(layers)))
    shares = Chart(
        "Units that do not work",
        "",
        "% of the layer",
        names=tuple(layers),
        lines=(
            Line(
                "dead units",
                places,
                tuple(None if one.dead is None else 100 * one.dead for one in layers.values()),
                "bars",
            ),
            Line(
                "saturated outputs",
                places,
                tuple(one.percent(one.flat) if one.kind in SATURATING else None for one in layers.values()),
                "bars",
            ),
        ),
        marks=(Mark(100 * DEAD, "half", "y"),),
    )
    x = tuple(float(i) for i in range(len(chain)))
    lines = (
        Line("spread over samples", x, tuple(one.signal or None for one in chain.values())),
        Line("spread over everything", x, tuple(one.std or None for one in chain.values()), "faint"),
    )
    title = "Signal along the depth" + (f": {rate.written}" if rate is not None else "")
    signal = Chart(title, "", "standard deviation", lines, names=tuple(chain), log_y=True)
    rank = Chart(
        "Effective rank of the outputs", "", "dimensions", names=tuple(layers), log_y=True,
        lines=(Line("rank", places, tuple(one.rank for one in layers.values())),
               Line("units", places, tuple(float(one.units) for one in layers.values()), "faint")),
    )  # fmt: skip
    return shares, signal, rank


def as_rows(tensor: torch.Tensor, unit: int) -> torch.Tensor:
    """(values, units), spread over the whole batch where there are very many."""
    rows = tensor.movedim(unit, -1).reshape(-1, tensor.shape[unit]) if tensor.dim() > 1 else tensor.reshape(-1, 1)
    # an odd stride does not fall in step with the positions of an image
    return rows[:: (len(rows) // SAMPLE_ROWS + 1) | 1] if len(rows) > SAMPLE_ROWS else rows


def as_samples(tensor: torch.Tensor) -> torch.Tensor:
    return tensor.reshape(tensor.shape[0], -1) if tensor.dim() > 1 else tensor.reshape(-1, 1)


def effective_rank(rows: torch.Tensor) -> float:
    """How many directions the rows use: the participation ratio of the variances along the principal axes."""
    if len(rows) < 2 or not bool(rows.isfinite().all()):
        return math.nan
    centred = rows - rows.mean(0)
    gram = centred.T @ centred if rows.shape[1] <= len(rows) else centred @ centred.T
    total = float(gram.diagonal().sum())
    return total**2 / float(gram.square().sum()) if total > 0 else 0.0


def _flat(output: torch.Tensor, kind: str) -> torch.Tensor:
    if kind == "tanh":
        return output.abs() > FLAT_TANH
    if kind == "hardtanh":
        return (output == output.amin()) | (output == output.amax())
    return (output < FLAT_SIGMOID) | (output > 1 - FLAT_SIGMOID)


PROBE = Probe(ID, "activations", measure, seconds=8.0)
