"""A measured checkpoint as a Reading: a sentence, the facts, the layers worth a look, and the charts."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from traindx.checkpoints.findings import PROBE, facts, listed, trained, untouched_statistics
from traindx.checkpoints.layers import Layer, Measured
from traindx.checkpoints.measure import QUANTILES
from traindx.checkpoints.parts import MOST_NUMBER
from traindx.checkpoints.tensor import HIGHEST
from traindx.reading import Cell, Chart, Line, Reading, Table
from traindx.run import flatten

SHOWN = 20  # rows of the table
EVERY = 100_000  # rows in a file for programs
MOST_POINTS = 400  # layers in a chart
MOST_NOTES = 12
DEAD_SHARE, TWIN_SHARE = 0.1, 0.1  # of a layer's rows
TINY, HUGE = 1e-6, 0.1  # update by weight; ordinary trainings lie between 1e-4 and 1e-2
NEAR = 0.5  # of the largest number a dtype can hold
_PREFIX = re.compile(
    r"^(?:base_model\.model\.|model\.|transformer\.)+"
)  # what every name of a library's models begins with
FLAT_VARIANCE, WILD_VARIANCE = 1e-10, 1e8  # of BatchNorm's input


def reading_of(found: Measured, seconds: float = 0.0, rows: int = SHOWN) -> Reading:
    """What the checkpoint shows, for people and for the engine, with at most `rows` layers in the table."""
    return Reading(
        PROBE, _summary(found), tuple(facts(found)), config=_settings(found), tables=_tables(found, rows),
        charts=_charts(found),
        unknown=tuple(found.checkpoint.lost), step=int(found.checkpoint.step or found.steps or 0), seconds=seconds,
    )  # fmt: skip


def _summary(found: Measured) -> str:
    checkpoint = found.checkpoint
    kinds = Counter(layer.tensor.dtype for layer in found.layers.values())
    count = sum(layer.stats.size for layer in found.layers.values())
    parts = [f"{len(found.layers)} tensors, {count:,} numbers in {', '.join(kind for kind, _ in kinds.most_common(4))}"]
    if checkpoint.step is not None:
        parts.append(f"step {checkpoint.step:.0f}")
    if not checkpoint.optimizers:
        parts.append("no optimiser state (a training resumed from it starts with fresh moments)")
    elif found.steps is not None:
        parts.append(f"optimiser state after {found.steps:.0f} updates")
    else:
        parts.append("optimiser state")
    text = "; ".join(parts) + "."
    if found.before is not None:
        compared = [layer.drift for layer in found.layers.values() if layer.drift is not None and not layer.buffer]
        still = sum(way.identical for way in compared)
        text += (
            f" Against {found.before.path}: {len(compared) - still} of {len(compared)} tensors moved, {still} are "
            f"identical."
        )
    return text


def _settings(found: Measured) -> dict[str, Any]:
    """What the checkpoint tells of the training's settings; the optimiser's own numbers win over a config's."""
    flat = flatten(found.checkpoint.config)
    stated: dict[str, Any] = {
        name: value for name, value in flat.items() if not isinstance(value, int) or abs(value) <= MOST_NUMBER
    }
    stated["model_parameters"] = sum(layer.stats.size for layer in found.layers.values() if not layer.buffer)
    for optimizer in found.checkpoint.optimizers[:1]:
        options = optimizer.groups[0].options if optimizer.groups else {}
        stated["optimizer"] = "adam" if "betas" in options else "sgd" if "momentum" in options else ""
        rate = options.get("initial_lr", options.get("lr"))
        decay = [group.options.get("weight_decay") for group in optimizer.groups]
        numbers = {
            "lr": rate,
            "momentum": options.get("momentum"),
            "weight_decay": max((d for d in decay if isinstance(d, int | float)), default=None),
        }
        stated |= {f"optimizer.{name}": value for name, value in numbers.items() if isinstance(value, int | float)}
    return {name: value for name, value in stated.items() if value != ""}


def _quantile(place: int, layer: Layer) -> Cell:
    return layer.stats.quantiles[place]


# for programs, which have room for all of them
_EVERY_NUMBER: list[tuple[str, Callable[[Layer], Cell]]] = [
    ("norm", lambda layer: layer.stats.norm),
    ("mean", lambda layer: layer.stats.mean),
    ("std", lambda layer: layer.stats.std),
    ("min", lambda layer: layer.stats.low),
    ("max", lambda layer: layer.stats.high),
    *((f"q{share * 100:g}", partial(_quantile, place)) for place, share in enumerate(QUANTILES)),
    ("zero share", lambda layer: layer.stats.zeros / max(layer.stats.size, 1)),
    ("not finite", lambda layer: layer.stats.nonfinite),
    ("dead rows", lambda layer: layer.stats.dead_rows),
    ("copied rows", lambda layer: layer.stats.twin_rows),
    ("gradient norm", lambda layer: layer.update.gradient if layer.update is not None else None),
]


def _tables(found: Measured, rows: int) -> tuple[Table, ...]:
    noted = list(_notes(found))
    order = {layer.name: place for place, layer in enumerate(found.layers.values())}
    ranked = sorted(found.layers.values(), key=lambda layer: (-_weight(found, layer), order[layer.name]))
    shown = ranked[:rows]
    of = f", {len(shown)} of {len(ranked)}, the most striking first" if len(ranked) > len(shown) else ""
    columns: list[tuple[str, Callable[[Layer], Cell]]] = [
        ("tensor", lambda layer: _PREFIX.sub("", layer.name) if rows == SHOWN else layer.name),
        ("shape", lambda layer: "×".join(map(str, layer.tensor.shape)) or "1"),
        ("dtype", lambda layer: layer.tensor.dtype),
        ("rms", lambda layer: layer.stats.rms),
        ("largest", lambda layer: layer.stats.largest),
    ]
    if any(layer.update is not None for layer in found.layers.values()):
        columns.append(("update", lambda layer: layer.update.ratio if layer.update is not None else None))
    if found.before is not None:
        columns.append(("change", lambda layer: layer.drift.change if layer.drift is not None else None))
        columns.append(("cosine", lambda layer: layer.drift.cosine if layer.drift is not None else None))
    if rows > SHOWN:
        columns += _EVERY_NUMBER
    columns.append(("remark", lambda layer: _remark(layer, rows)))
    cells = tuple(tuple(_plain(make(layer)) for _, make in columns) for layer in shown)
    layers = Table(f"layers{of}", tuple(name for name, _ in columns), cells)
    if not noted:
        return (layers,)
    more = [("…", f"{len(noted) - MOST_NOTES} more")] if len(noted) > MOST_NOTES else []
    return Table("what stands out", ("finding", "where"), tuple(noted[:MOST_NOTES] + more)), layers


def _plain(cell: Cell) -> Cell:
    return None if isinstance(cell, float) and math.isnan(cell) else cell


def _remark(layer: Layer, rows: int) -> str:
    stats = layer.stats
    if stats.mask:
        return "a mask"
    parts: list[str] = []
    if stats.nonfinite:
        parts.append(f"{stats.nonfinite} not finite")
    if layer.drift is not None and layer.drift.identical and not layer.buffer:
        parts.append("did not move")
    if layer.start and len(layer.tensor.shape) >= 2:
        parts.append(f"as initialised, {layer.start}" if rows > SHOWN else "as initialised")
    elif stats.constant is not None and layer.tensor.size > 1:
        parts.append(f"all {stats.constant:g}")
    if stats.copies:
        parts.append("all rows the same")
    elif stats.rows and stats.twin_rows >= TWIN_SHARE * stats.rows:
        parts.append(f"{stats.twin_rows} of {stats.rows} rows are copies")
    if stats.dead_rows and stats.constant is None and not stats.nonfinite:
        parts.append(f"{stats.dead_rows} of {stats.rows} rows dead")
    if layer.update is not None and layer.update.nonfinite:
        parts.append("moments not finite")
    return ", ".join(parts)


def _weight(found: Measured, layer: Layer) -> float:
    """How much a layer deserves a row: broken first, then what never moved, then odd rows and odd updates, then
    matrices."""
    stats = layer.stats
    ratio = layer.update.ratio if layer.update is not None else None
    score = 100.0 * (stats.nonfinite > 0 and not stats.mask) + 50.0 * (
        layer.update is not None and layer.update.nonfinite
    )
    if layer.matrix:
        score += 20.0 * stats.copies + 12.0 * (layer.untouched and bool(trained(found))) + 2.0 * bool(layer.start)
        score += 10.0 * (layer.drift is not None and layer.drift.identical) + 1.0
    if stats.rows:
        score += 5.0 * (stats.dead_rows + stats.twin_rows) / stats.rows
    if ratio is not None and layer.matrix and (ratio > HUGE or ratio < TINY):
        score += 4.0
    return score - 0.5 * layer.buffer


def _notes(found: Measured) -> Iterator[tuple[str, str]]:
    """What is worth knowing and proves nothing by itself."""
    layers = list(found.layers.values())
    kinds = Counter(layer.tensor.dtype for layer in layers if not layer.buffer)
    if len(kinds) > 1:
        yield "mixed dtypes", ", ".join(f"{count} tensors {kind}" for kind, count in kinds.most_common(4))
    for layer in layers:
        limit = HIGHEST.get(layer.tensor.dtype)
        if limit is not None and not layer.stats.mask and layer.stats.largest > NEAR * limit:
            yield f"{layer.tensor.dtype} near its limit, {limit:g}", f"{layer.name}: {layer.stats.largest:.3g}"
    yield from _rows(layers)
    yield from _statistics(found)
    sizes = [
        (layer.update.ratio, layer.name)
        for layer in layers
        if layer.matrix and layer.update is not None and layer.update.ratio is not None
    ]
    huge = [name for ratio, name in sizes if ratio > HUGE]
    if huge:
        yield f"last update above {HUGE:g} of the weight", f"{len(huge)} of {len(sizes)} matrices: {listed(huge)}"
    tiny = [name for ratio, name in sizes if ratio < TINY]
    if tiny:
        yield f"last update below {TINY:g} of weight", f"{len(tiny)} of {len(sizes)} matrices: {listed(tiny)}"
    if found.unnamed:
        yield "moments without a certain name", f"{len(found.unnamed)} parameters"


def _rows(layers: list[Layer]) -> Iterator[tuple[str, str]]:
    matrices = [layer for layer in layers if layer.matrix and not layer.stats.nonfinite and layer.stats.rows]
    dead = [
        layer
        for layer in matrices
        if layer.stats.constant is None and layer.stats.dead_rows >= max(1, DEAD_SHARE * layer.stats.rows)
    ]
    if dead:
        yield (
            "dead filters or rows",
            listed([f"{layer.name}: {layer.stats.dead_rows} of {layer.stats.rows}" for layer in dead]),
        )
    twins = [layer for layer in matrices if layer.stats.twin_rows >= max(1, TWIN_SHARE * layer.stats.rows)]
    if twins:
        yield (
            "duplicate filters or rows",
            listed([f"{layer.name}: {layer.stats.twin_rows} of {layer.stats.rows}" for layer in twins]),
        )
    zero = [layer.name for layer in layers if layer.matrix and layer.stats.constant == 0]
    if zero:
        yield "matrices of zeros", f"{len(zero)}: {listed(zero)}"


def _statistics(found: Measured) -> Iterator[tuple[str, str]]:
    norms = [name.removesuffix(".running_var") for name in found.layers if name.endswith(".running_var")]
    fresh = [name for name in norms if untouched_statistics(found, name)]
    if fresh:
        yield "BatchNorm statistics never updated", f"{len(fresh)} of {len(norms)}: {listed(fresh)}"
    variances = [found.layers[f"{name}.running_var"] for name in norms]
    flat = [layer.name for layer in variances if layer.stats.low < FLAT_VARIANCE]
    if flat:
        yield "BatchNorm inputs that do not vary", f"{len(flat)} layers: {listed(flat)}"
    wild = [layer.name for layer in variances if layer.stats.high > WILD_VARIANCE]
    if wild:
        yield (
            "BatchNorm inputs of huge variance",
            listed([f"{name}: {found.layers[name].stats.high:.3g}" for name in wild]),
        )


def _charts(found: Measured) -> tuple[Chart, ...]:
    layers = [layer for layer in found.layers.values() if not layer.buffer and layer.tensor.size > 1]
    stride = -(-len(layers) // MOST_POINTS) if layers else 1
    layers = layers[::stride]
    names = tuple(_PREFIX.sub("", layer.name) for layer in layers)
    places = tuple(float(place) for place in range(len(layers)))

    def line(name: str, value: Callable[[Layer], float | None]) -> Line:
        return Line(name, places, tuple(_positive(value(layer)) for layer in layers), "points")

    x_label = "tensors in the order of the file" + (f", every {stride}th" if stride > 1 else "")
    charts = [
        Chart("Size of the weights", x_label, "absolute value",
              (line("largest", lambda one: one.stats.largest), line("root mean square", lambda one: one.stats.rms)),
              names=names, log_y=True),
    ]  # fmt: skip
    if any(layer.update is not None and layer.update.ratio is not None for layer in layers):
        ratio = line("update by weight", lambda one: one.update.ratio if one.update is not None else None)
        usual = [
            Line(f"usual {word} {at:g}", (0.0, places[-1]), (at, at), "faint")
            for word, at in (("from", 1e-4), ("to", 1e-2))
        ]
        title = "Last update by weight, from the optimiser's moments"
        charts.append(Chart(title, x_label, "ratio of norms", (ratio, *usual), names=names, log_y=True))
    if found.before is not None:
        change = line("relative change", lambda one: one.drift.change if one.drift is not None else None)
        charts.append(
            Chart(
                "Change between the two checkpoints",
                x_label,
                "norm of change by norm",
                (change,),
                names=names,
                log_y=True,
            )
        )
    return tuple(charts)


def _positive(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) and value > 0 else None
