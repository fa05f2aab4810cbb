"""Rows as experiment trackers keep them (W&B, trackio): a JSON value for each name, a step and a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any

import numpy as np

from traindx.meaning import step_rank
from traindx.readers.build import RunBuilder
from traindx.run import Floats

_FIRST_ROWS = 64  # looked at before the step counter is chosen
_OWN_COUNTER = 10  # step_rank of the global_step that trainers log themselves
_WORDS = {"NaN": float("nan"), "Infinity": float("inf"), "-Infinity": float("-inf")}
_MAX_DEPTH = 8  # of mappings in mappings


@dataclass
class Row:
    """One call of the tracker's log function."""

    values: dict[str, float]
    step: float | None = None
    time: float | None = None


@dataclass
class Sample:
    """One reading of a system monitor, which knows the time but not the step."""

    time: float
    values: dict[str, float]


def numbers_in(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, float]]:
    """The numbers a logged JSON value holds: itself, or those of a plain mapping; media, lists and texts hold none."""
    if isinstance(value, bool) or depth > _MAX_DEPTH:
        return
    if isinstance(value, int | float):
        try:
            yield name, float(value)
        except OverflowError:  # JSON has no largest integer
            yield name, float("inf") if value > 0 else float("-inf")
    elif isinstance(value, str):
        if value in _WORDS:
            yield name, _WORDS[value]
    elif isinstance(value, Mapping) and "_type" not in value:
        for key, inner in value.items():
            yield from numbers_in(f"{name}.{key}", inner, depth + 1)


def feed_rows(rows: Iterator[Row], builder: RunBuilder) -> tuple[list[float], list[float]]:
    """Rows into the builder; returns the steps and times of those that have both. The clock is the trainer's own
    global_step where nearly every row has one, else the tracker's count of log calls."""
    first = list(islice(rows, _FIRST_ROWS))
    counters = [name for row in first for name in row.values if step_rank(name) >= _OWN_COUNTER]
    counter = max(set(counters), key=counters.count, default="")
    if counters.count(counter) < 0.9 * len(first):
        counter = ""
    steps: list[float] = []
    times: list[float] = []
    for row in chain(first, rows):
        step = row.values.get(counter) if counter else row.step
        builder.row(row.values, step=step, time=row.time)
        if step is not None and row.time is not None:
            steps.append(step)
            times.append(row.time)
    return steps, times


def feed_samples(
    samples: Iterable[Sample], steps: Sequence[float], times: Sequence[float], builder: RunBuilder
) -> None:
    """Samples into the builder as series; the rows logged around each say at which step it was taken."""
    if len(steps) < 2:
        return
    clock: Floats = np.maximum.accumulate(np.array(times))
    columns: dict[str, list[tuple[float, float]]] = {}
    for sample in samples:
        if clock[0] <= sample.time <= clock[-1]:
            for name, value in sample.values.items():
                columns.setdefault(name, []).append((sample.time, value))
    for name, points in sorted(columns.items()):
        at, values = np.array(points).T
        builder.series(name, np.interp(at, clock, np.array(steps)), values, at)
