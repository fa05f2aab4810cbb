"""Which number the runs are compared by, and on which axis their curves lie over each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from traindx.comparison.result import Alignment
from traindx.comparison.settings import Table
from traindx.comparison.summary import Measure, Role, Summary
from traindx.errors import TraindxError
from traindx.meaning import tokens_of
from traindx.run import Floats

ORDER: tuple[Role, ...] = ("named", "reward", "validation loss", "score", "training loss", "training score")
SIMILAR = 20.0  # lengths further apart than this are counted in different units, whatever their axis is called
_LOSS_WORDS = ("loss", "criterion", "smoothing", "reduction", "class_weight", "label_smoothing")
_SPLIT_WORDS = frozenset({"val", "valid", "validation", "eval", "test", "dev", "metrics", "epoch", "step", "train"})


@dataclass(frozen=True, slots=True)
class Chosen:
    """The measure of each run (None where it has none of this kind) and why this one."""

    role: Role
    name: str
    measures: tuple[Measure | None, ...]
    notes: tuple[str, ...]


def choose_measure(runs: Sequence[Summary], table: Table) -> Chosen:
    """The objective that most runs have: validation before training, the loss before a score, unless the runs were
    given different losses, whose values do not compare."""
    losses = [name for name in table.names if any(word in name.lower() for word in _LOSS_WORDS)]
    order: list[Role] = list(ORDER)
    notes: list[str] = []
    if losses:
        order.sort(key=lambda role: ("loss" in role, ORDER.index(role)))
    picked: tuple[int, Role, list[Measure | None]] | None = None
    for role in order:
        measures = _alike(role, [run.measures.get(role) for run in runs])
        having = sum(measure is not None for measure in measures)
        if having and (picked is None or having > picked[0]):
            picked = (having, role, measures)
    if picked is None:
        raise TraindxError("None of these runs has a metric to compare by.", "Name one that they log: --metric NAME.")
    having, role, measures = picked
    names = Counter(measure.name for measure in measures if measure is not None)
    if losses and "loss" in role:
        notes.append(
            f"The runs differ in {losses[0]}: values of different losses do not compare. Name a score: --metric."
        )
    if losses and "loss" not in role and any("validation loss" in run.measures for run in runs):
        notes.append(f"Compared by a score, since the runs differ in {losses[0]} and their losses do not compare.")
    if having < len(runs):
        notes.append(f"{len(runs) - having} of {len(runs)} runs log no {role} of this kind and are not ranked.")
    if len(names) > 1:
        notes.append(f"The {role} goes by {len(names)} names: {', '.join(list(names)[:4])}.")
    return Chosen(role, names.most_common(1)[0][0], tuple(measures), tuple(notes))


def _alike(role: Role, measures: list[Measure | None]) -> list[Measure | None]:
    """Of one role only measures of the commonest kind: accuracy is not compared with F1, a loss not with a
    perplexity."""
    kinds = Counter(_kind(role, measure) for measure in measures if measure is not None)
    if len(kinds) < 2:
        return measures
    usual = kinds.most_common(1)[0][0]
    return [measure if measure is not None and _kind(role, measure) == usual else None for measure in measures]


def _kind(role: Role, measure: Measure) -> str:
    words = [word for word in tokens_of(measure.name) if word not in _SPLIT_WORDS]
    if role in ("score", "training score"):
        return "".join(words)
    return measure.kind


@dataclass(frozen=True, slots=True)
class Aligned:
    """Every run's curve on the common axis, lower being better; `end` is where the shortest of them ends."""

    axis: Alignment
    why: str
    x: tuple[Floats, ...]
    y: tuple[Floats, ...]
    end: float


def align(measures: Sequence[Measure | None], table: Table, wanted: Alignment | None) -> Aligned:
    """Lay the curves over each other: by what the user asks for, else by the axis they share."""
    known = [measure for measure in measures if measure is not None]
    axis, why = (wanted, "as asked for") if wanted is not None else _choose(known, table)
    if axis == "time" and any(measure.seconds is None for measure in known):
        lacking = next(measure.name for measure in known if measure.seconds is None)
        raise TraindxError(f"--align time: a run logs no times with {lacking}.", "Use --align progress.")
    if axis in ("step", "epoch") and any(measure.axis != axis for measure in known):
        counted = sorted({measure.axis for measure in known})
        raise TraindxError(f"--align {axis}: the runs count in {' and '.join(counted)}.", "Use --align progress.")
    x = tuple(_placed(measure, axis) for measure in measures)
    y = tuple(np.asarray(m.y) * m.sign if m is not None else np.empty(0) for m in measures)
    end = min((float(places[-1]) for places in x if len(places)), default=math.nan)
    return Aligned(axis, why, x, y, end)


def _choose(measures: Sequence[Measure], table: Table) -> tuple[Alignment, str]:
    axes = {measure.axis for measure in measures}
    lengths = [measure.x[-1] for measure in measures if measure.x[-1] > 0]
    if len(axes) > 1:
        return (
            "progress",
            f"the runs count differently ({', '.join(sorted(axes))}), so each is laid over its own length",
        )
    (axis,) = axes
    if lengths and max(lengths) / min(lengths) > SIMILAR:
        return (
            "progress",
            f"lengths range from {min(lengths):g} to {max(lengths):g} {axis}s, so each is laid over its own length",
        )
    if axis == "row":
        return "row", "the logs count nothing, so their n-th values are laid over each other"
    if axis == "step" and "batch_size" in table.names:
        return "step", "batch sizes differ, so equal steps are not equally many samples"
    return axis, ""


def _placed(measure: Measure | None, axis: Alignment) -> Floats:
    if measure is None:
        return np.empty(0)
    if axis == "time":
        return np.asarray(measure.seconds, dtype=np.float64)
    x = np.asarray(measure.x, dtype=np.float64)
    if axis != "progress":
        return x
    reach = float(x[-1] - x[0])
    return (x - x[0]) / reach if reach > 0 else np.ones(len(x))


def first_reach(x: Floats, y: Floats, target: float) -> float | None:
    """Where a curve first meets the target, between its points; None where it never does."""
    hit = np.flatnonzero(y <= target)
    if not len(hit):
        return None
    place = int(hit[0])
    if place == 0 or y[place - 1] == y[place]:
        return float(x[place])
    share = (y[place - 1] - target) / (y[place - 1] - y[place])
    return float(x[place - 1] + share * (x[place] - x[place - 1]))
