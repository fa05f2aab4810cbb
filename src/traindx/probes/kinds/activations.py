"""Show what each layer puts out: dead and saturated units, dead filters, rank, and whether the signal survives."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import torch

from traindx.measurements import FlatOutputs, Measurement, NumbersSeen, OutputsAcrossSamples, UnitsOff
from traindx.probes.base import Deadline, Probe
from traindx.probes.looking import Seen, looking
from traindx.probes.moments import Moments
from traindx.probes.subject import Subject
from traindx.reading import Chart, Line, Mark, Reading, Table
from traindx.signals.along import Rate, rate_along
from traindx.symptoms.base import percent
from traindx.symptoms.dead_units import OFF
from traindx.symptoms.rates_along import rate_measured

ID = "activations"
ROWS = 96  # samples (and positions) over which a unit must be off to count as dead
SAMPLE_ROWS = 4096  # of one batch
RANK_ROWS = 512  # for the spectrum of a layer's outputs
FLAT_TANH, FLAT_SIGMOID = 0.97, 0.03  # both leave about a tenth of the slope
FLAT_GELU = -4.0  # an input below it gives GELU and SiLU less than 2 % of their slope
SATURATING = ("tanh", "sigmoid", "hardtanh", "hardsigmoid")
DYING = ("relu", "relu6", "gelu", "silu")


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
    samples: int = 0  # over which the spread is taken
    size: float = 0.0  # mean absolute value in those

    @property
    def dead(self) -> float | None:
        """The share of units that were off in every row; None where that says nothing."""
        return None if self.off is None else self.off / self.units

    @property
    def off(self) -> int | None:
        return None if self.alive is None or self.rows < ROWS else int((~self.alive).sum())

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
        self.samples, self.size = len(samples), float(samples.abs().mean())
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
        ID, _summary(layers, rate, used), measured=tuple(_measurements(layers, chain, rate, used, last)),
        tables=(_table(layers),), charts=_charts(layers, chain, rate),
        unknown=() if sum(layer.rows for layer in layers.values()) >= ROWS else (f"Dead units: fewer than {ROWS} rows "
                                                                                 f"were seen.",),
    )  # fmt: skip


def _measurements(
    layers: dict[str, Layer], chain: dict[str, Layer], rate: Rate | None, used: int, last: Layer
) -> Iterator[Measurement]:
    broken = next((name for name, layer in layers.items() if layer.nonfinite), "")
    nonfinite = layers[broken].nonfinite if broken else 0
    yield NumbersSeen(what="activations", nonfinite=nonfinite, batches=used, where=broken)
    if broken:
        return
    inner = {name: layer for name, layer in layers.items() if layer is not last}
    functions = {layer.kind for layer in layers.values()} - {"layer"}
    dying = {name: layer for name, layer in inner.items() if layer.off is not None}
    if dying or (functions and not functions & set(DYING)):
        yield UnitsOff(
            layers=tuple(dying),
            off=tuple(layer.off or 0 for layer in dying.values()),
            units=tuple(layer.units for layer in dying.values()),
            rows=tuple(layer.rows for layer in dying.values()),
            filters=tuple(layer.filters for layer in dying.values()),
        )
    flat = {name: layer.flat / max(layer.count, 1) for name, layer in inner.items() if layer.kind in SATURATING}
    if flat or (functions and not functions & set(SATURATING)):
        shares = tuple(sorted(flat.values(), reverse=True))
        yield FlatOutputs(layers=len(flat), shares=shares, where=max(flat, key=lambda name: flat[name], default=""))
    if rate is not None:
        yield rate_measured("signal", rate, next(iter(chain)), list(chain)[-1])
    hidden = [layer for layer in chain.values() if not math.isnan(layer.signal)][:-1]
    if hidden and last.samples > 1 and hidden[-1].samples > 1:
        yield OutputsAcrossSamples(
            spread=last.signal, size=last.size, hidden_spread=hidden[-1].signal, hidden_size=hidden[-1].size
        )


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
        marks=(Mark(100 * OFF.value, "half", "y"),),
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
