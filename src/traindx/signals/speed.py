"""Where the wall time goes: seconds a step, seconds waiting for data, and the pace of the run.

Logs count time in seconds or milliseconds, per step or since the start; here it is always seconds per step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from traindx.meaning import Kind, tokens_of
from traindx.run import Floats, Series
from traindx.signals import Signals
from traindx.signals.choose import usable
from traindx.signals.curve import MAX_BINS

START_UP = 5  # rows at the beginning: compilation, cache, worker start
MIN_ROWS = 20
QUEUED = 0.1  # of the time, ready to run and without a CPU: what the clock says is then about the neighbours


def crowded(signals: Signals) -> str | None:
    """Why step times say nothing, where a recording saw that other programs had the CPU."""
    queued = signals.run.config.get("cpu_queue")
    if not isinstance(queued, float) or queued < QUEUED:
        return None
    return (
        f"The process stood in line for a CPU {queued:.0%} of the time, behind other programs; its step times are "
        f"not judged."
    )


def step_seconds(signals: Signals) -> Series | None:
    """The duration of each training step in seconds."""
    return _seconds(signals, "step_time")


def data_seconds(signals: Signals) -> Series | None:
    """How long each training step waited for its data, in seconds."""
    return _seconds(signals, "data_time")


def _seconds(signals: Signals, kind: Kind) -> Series | None:
    found = [series for series in usable(signals.run, kind) if series.meaning.split in ("train", "")]
    series = max(found, key=lambda one: (one.meaning.split == "train", len(one)), default=None)
    if series is None:
        return None
    known = np.isfinite(series.values) & (series.values >= 0)
    values = series.values[known] / (1000.0 if series.meaning.part == "ms" else 1.0)
    return _per_step(replace(series, steps=series.steps[known], values=values, times=None))


def _per_step(series: Series) -> Series | None:
    """Time since the start, which rises at every row, becomes the time between rows; a running average that rises at
    every row tells no single step and is left out."""
    values = series.values
    if len(values) < 8 or len(np.unique(values[:50])) < 6 or np.any(np.diff(values) < 0):
        return series
    if values[-1] < 3 * values[0]:
        return None
    gaps = np.maximum(np.diff(series.steps), 1e-12)
    return replace(series, steps=series.steps[1:], values=np.diff(values) / gaps * float(np.median(gaps)))


@dataclass(frozen=True)
class Pace:
    """How fast the run went, in pieces: where they begin, the median pace of each, and what it was taken from."""

    name: str
    x: Floats
    y: Floats


def batch_ramp(signals: Signals) -> Series | None:
    """The logged batch size, where it changes over the run: larger batches take longer by right."""
    for series in usable(signals.run, "other"):
        if {"batch", "size"} <= set(tokens_of(series.name)) and np.isfinite(series.values).all():
            return series if series.values.max() > series.values.min() > 0 else None
    return None


def pace(signals: Signals) -> Pace | None:
    """The pace over the run, from a logged throughput, else from step times, else from the time stamps of the rows; in
    samples where the batch size is logged and changes."""
    logged = [series for series in usable(signals.run, "throughput") if series.meaning.split in ("train", "")]
    series = max(logged, key=len, default=None)
    if series is not None and len(series) >= MIN_ROWS:
        return _pieces(series.name, series.steps, series.values)
    series = step_seconds(signals)
    if series is not None and len(series) >= MIN_ROWS:
        slow = series.values > 0
        name, steps, rate = f"1/{series.name}", series.steps[slow], 1.0 / series.values[slow]
        ramp = batch_ramp(signals)
        if ramp is not None:
            name, rate = f"{ramp.name}/{series.name}", rate * np.interp(steps, ramp.steps, ramp.values)
        return _pieces(name, steps, rate)
    return _from_stamps(signals) if batch_ramp(signals) is None else None


def _pieces(name: str, steps: Floats, values: Floats) -> Pace | None:
    known = np.isfinite(values) & (values > 0)
    steps, values = steps[known], values[known]
    if len(values) < MIN_ROWS:
        return None
    edges = np.linspace(0, len(values), min(MAX_BINS, len(values)) + 1).astype(int)
    level = [float(np.median(values[a:b])) for a, b in pairwise(edges)]
    return Pace(name, steps[edges[:-1]], np.array(level))


def _from_stamps(signals: Signals) -> Pace | None:
    """Steps a second between rows. Text logs stamp whole seconds, so it is taken over pieces, not from row to row."""
    curve = signals.train or signals.main
    series = None if curve is None else signals.run.series.get(curve.name)
    if series is None or series.times is None or series.axis == "row" or len(series) < 2 * MIN_ROWS:
        return None
    edges = np.linspace(0, len(series) - 1, min(MAX_BINS, len(series) // 2) + 1).astype(int)
    taken = np.diff(series.times[edges])
    moved = np.diff(series.steps[edges])
    good = (taken > 0) & (moved > 0)
    if good.sum() < MIN_ROWS:
        return None
    name = f"{series.axis}s per second by the time stamps"
    return Pace(name, series.steps[edges[:-1]][good], moved[good] / taken[good])
