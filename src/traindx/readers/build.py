"""RunBuilder: rows as a log has them, in file order, become runs with clean, ordered series.

All the mess that logs share is settled once: here several runs in one file and several counters in a row; in `timeline`
counters that restart every epoch, validation rows that only know their epoch, resumed runs, doubled rows.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Meaning, Split, meaning_of, step_rank
from traindx.readers.tables.growing import Growing, Shared
from traindx.readers.timeline import (
    MAX_RUNS,
    clock_of,
    epoch_ends,
    is_rising,
    newest_first,
    ordered,
    restarts_in,
    unrolled,
)
from traindx.run import Axis, Event, Floats, Run
from traindx.signals.curve import counted

NAN = float("nan")
FALSE_START = 0.1  # of the rows of a later run in the same log: an attempt shorter than this tells nothing of it
NO_WORSE = 0.2  # of its first value: what the last one of such an attempt may lie above it
MAX_SERIES = 20_000  # a log with more names than this is not naming metrics


class _Column:
    __slots__ = ("meaning", "rows", "values")

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.rows = Growing("q")
        self.values = Growing("d")


class _Apart:
    """A metric that came with its own clock."""

    __slots__ = ("meaning", "steps", "times", "values")

    def __init__(self, meaning: Meaning) -> None:
        self.meaning = meaning
        self.steps, self.values, self.times = array("d"), array("d"), array("d")


@dataclass
class _Segment:
    """A stretch of rows [start, stop) that is one run; `events` are the resumes inside it."""

    start: int
    stop: int
    events: list[Event]


class RunBuilder:
    """Collects rows in the order they stand in the log; `finish` gives one Run for each training found in them."""

    def __init__(self, source: str, format: str, *, one_run: bool = False) -> None:
        """`one_run`: the format keeps one training a file, so a counter that falls back is never a new one."""
        self.source = source
        self.format = format
        self.one_run = one_run
        self.config: dict[str, Any] = {}
        self.events: list[Event] = []
        self.lost: list[str] = []
        self.said: tuple[str, ...] = ()
        self._columns: dict[str, _Column] = {}
        self._apart: dict[str, _Apart] = {}
        self._steps = Growing("d")
        self._epochs = Growing("d")
        self._times = Growing("d")
        self._within = False  # the step counts batches inside an epoch
        self._cuts: list[int] = []  # rows where the reader itself saw a new run begin
        self._rows_of: dict[int, int] = {}  # the row an event came after, by its place among the events

    def __len__(self) -> int:
        return len(self._steps)

    def declare(self, name: str, meaning: Meaning | None = None) -> None:
        """Say that this metric exists (an empty table still names what it would hold), or what it means."""
        if name not in self._columns and len(self._columns) < MAX_SERIES:
            self._columns[name] = _Column(meaning or meaning_of(name))

    def new_run(self) -> None:
        """The log itself marks the beginning of another training here (a repeated header, a start banner)."""
        if len(self) and (not self._cuts or self._cuts[-1] != len(self)):
            self._cuts.append(len(self))

    def happened(self, event: Event, row: int) -> None:
        """Something the log tells after this row (-1: before the first)."""
        self._rows_of[len(self.events)] = row
        self.events.append(event)

    def row(
        self, values: Mapping[str, float], *, step: float | None = None, epoch: float | None = None,
        time: float | None = None, split: Split = "", within_epoch: bool = False,
    ) -> None:  # fmt: skip
        """One logged row. Counters among the values ('step', 'epoch') are used where `step`/`epoch` are not given;
        `split` marks rows whose names do not say it ('loss' in a validation row); `within_epoch` says that the step
        counts batches inside the current epoch."""
        rank = 0
        index = len(self._steps)
        self._within = self._within or within_epoch
        for name, value in values.items():
            meaning = meaning_of(name)
            kind = meaning.kind
            if kind == "step":
                found = step_rank(name)
                if step is None or 0 < rank < found:
                    step, rank = value, found
            elif kind == "epoch" and epoch is None:
                epoch = value
        self._steps.append(NAN if step is None else step)
        self._epochs.append(NAN if epoch is None else epoch)
        self._times.append(NAN if time is None else time)
        for name, value in values.items():
            column = self._column(name, split)
            if column is not None:
                column.rows.append(index)
                column.values.append(value)

    def table(
        self, columns: Mapping[str, Floats], present: Mapping[str, NDArray[np.bool_]] | None = None, *,
        split: Split = "", step: Floats | None = None, epoch: Floats | None = None, time: Floats | None = None,
    ) -> None:  # fmt: skip
        """Many rows at once. A cell that is not `present` was blank in the log; a NaN that is present was logged."""
        if not columns:
            return
        length = len(next(iter(columns.values())))
        start = len(self._steps)
        if step is None:
            counters = [name for name in columns if meaning_of(name).kind == "step"]
            if counters:
                step = columns[max(counters, key=step_rank)]
        if epoch is None:
            epoch = next((column for name, column in columns.items() if meaning_of(name).kind == "epoch"), None)
        blank = np.broadcast_to(np.float64(NAN), length)
        for store, given in ((self._steps, step), (self._epochs, epoch), (self._times, time)):
            store.extend(blank if given is None else given)
        rows = np.arange(start, start + length, dtype=np.int64)
        for name, values in columns.items():
            column = self._column(name, split)
            if column is None:
                continue
            mask = None if present is None else present.get(name)
            if mask is None:
                column.rows.extend(rows)
                column.values.extend(values)
            else:
                places = np.flatnonzero(mask)
                column.rows.extend(places + start)
                column.values.extend(values[places])

    def series(self, name: str, steps: Floats, values: Floats, times: Floats) -> None:
        """More points of one metric, in the order they were logged, for formats that keep every metric apart with its
        own clock. Such a format keeps one training a store, so the points belong to one run."""
        apart = self._apart.get(name)
        if apart is None:
            meaning = meaning_of(name)
            if meaning.kind in ("step", "stamp", "epoch") or len(self._apart) >= MAX_SERIES:
                return
            apart = self._apart[name] = _Apart(meaning)
        for store, given in ((apart.steps, steps), (apart.values, values), (apart.times, times)):
            store.frombytes(np.ascontiguousarray(given, dtype=np.float64).tobytes())

    def _column(self, name: str, split: Split) -> _Column | None:
        column = self._columns.get(name) if not split else None
        if column is not None:
            return column
        meaning = meaning_of(name)
        if meaning.kind in ("step", "stamp") or (meaning.kind == "epoch" and not split):
            return None
        key = name
        if split and not meaning.split and meaning.kind not in ("lr", "epoch"):
            key = f"{split}/{name}"
            meaning = meaning_of(key) if meaning_of(key).kind == meaning.kind else replace(meaning, split=split)
        elif meaning.kind == "epoch":
            return None
        column = self._columns.get(key)
        if column is None:
            if len(self._columns) >= MAX_SERIES:
                return None
            column = self._columns[key] = _Column(meaning)
        return column

    @np.errstate(over="ignore", invalid="ignore")  # a damaged counter can hold any number
    def finish(self) -> list[Run]:
        """The runs, in file order. A log without a single number gives one run with empty series."""
        steps, epochs, times = self._steps.array(), self._epochs.array(), self._times.array()
        columns = self._gathered()
        if newest_first(steps) or (not np.isfinite(steps).any() and newest_first(epochs)):
            last = len(steps) - 1
            steps, epochs, times = steps[::-1], epochs[::-1], times[::-1]
            columns = {
                name: (meaning, last - rows[::-1], values[::-1]) for name, (meaning, rows, values) in columns.items()
            }
            self._rows_of = {place: last - row for place, row in self._rows_of.items()}
        steps = unrolled(steps, epochs, self._within)
        segments = self._segments(steps, epochs, columns)
        events = self._events_by_run([segment.start for segment in segments])
        runs: list[Run] = []
        for number, segment in enumerate(segments):
            run = Run(self.source, self.format, config=dict(self.config), lost=list(self.lost), said=self.said)
            run.events = [*segment.events, *events.get(number, {}).values()]
            if len(segments) > 1:
                run.name = f"run {number + 1} of {len(segments)}"
            self._fill(run, segment, steps, epochs, times, columns)
            runs.append(run)
        self._fill_apart(runs[-1])
        return _without_false_starts(runs)

    def _events_by_run(self, starts: list[int]) -> dict[int, dict[tuple[str, str], Event]]:
        """The events that stand in each run; those without a place belong to the last. What is said twice is said
        once."""
        found: dict[int, dict[tuple[str, str], Event]] = {}
        for place, event in enumerate(self.events):
            row = self._rows_of.get(place)
            run = len(starts) - 1 if row is None else max(0, bisect_right(starts, row) - 1)
            found.setdefault(run, {}).setdefault((event.kind, event.text), event)
        return found

    def _gathered(self) -> dict[str, tuple[Meaning, NDArray[np.int64], Floats]]:
        """What each column means, its rows and its values."""
        shared: Shared = {}  # columns without blanks have the same rows
        return {
            name: (column.meaning, column.rows.array(shared), column.values.array())
            for name, column in self._columns.items()
        }

    def _segments(
        self, steps: Floats, epochs: Floats, columns: Mapping[str, tuple[Meaning, NDArray[np.int64], Floats]]
    ) -> list[_Segment]:
        total = len(steps)
        reference = _reference(columns)
        clock = (
            steps
            if np.isfinite(steps).sum() >= np.isfinite(epochs).sum() * 0.5 and np.isfinite(steps).any()
            else epochs
        )
        segments: list[_Segment] = []
        bounds = [0, *(self._cuts if len(self._cuts) <= MAX_RUNS else []), total]
        for start, stop in pairwise(bounds):
            segments.extend(self._split(start, stop, clock, reference))
        return [segment for segment in segments if segment.stop > segment.start] or [_Segment(0, total, [])]

    def _split(self, start: int, stop: int, clock: Floats, reference: NDArray[np.int64]) -> list[_Segment]:
        """Cut [start, stop) where the clock of the reference series falls back to its beginning; a fall to the middle
        is a resumed run and stays inside it."""
        if is_rising(clock[start:stop]):
            return [_Segment(start, stop, [])]
        rows = reference[(reference >= start) & (reference < stop)]
        rows = rows[np.isfinite(clock[rows])]
        if len(rows) < 2:
            return [_Segment(start, stop, [])]
        ticks = clock[rows]
        falls = np.flatnonzero(np.diff(ticks) < 0) + 1
        if len(falls) > MAX_RUNS:
            return [_Segment(start, stop, [])]
        segments: list[_Segment] = []
        begin_row, begin = start, 0
        events: list[Event] = []
        for fall in falls:
            before, after = ticks[fall - 1], ticks[fall]
            interval = np.median(np.abs(np.diff(ticks[begin:fall]))) if fall - begin > 1 else 1.0
            fresh = after <= ticks[begin] + 2 * max(interval, 1e-12) and not self.one_run
            if fresh:
                between = np.arange(rows[fall - 1] + 1, rows[fall] + 1)
                cut = int(between[np.isnan(clock[between]) | (clock[between] <= after)][0])
                segments.append(_Segment(begin_row, cut, events))
                begin_row, begin, events = cut, int(fall), []
            elif before - after > 2 * interval:
                events.append(
                    Event(
                        "restart",
                        f"went back from {counted(float(before))} to {counted(float(after))} and went on",
                        float(after),
                    )
                )
        segments.append(_Segment(begin_row, stop, events))
        return segments

    def _fill(
        self, run: Run, segment: _Segment, steps: Floats, epochs: Floats, times: Floats,
        columns: Mapping[str, tuple[Meaning, NDArray[np.int64], Floats]],
    ) -> None:  # fmt: skip
        part = slice(segment.start, segment.stop)
        to_step = cache(lambda: epoch_ends(steps[part], epochs[part]))  # few series need it
        timed = bool(np.isfinite(times[part]).any())
        for name, (meaning, rows, values) in columns.items():
            low, high = np.searchsorted(rows, [segment.start, segment.stop])
            mine = _as_slice(rows[low:high])
            clock, axis = clock_of(steps[mine], epochs[mine], to_step)
            order_values = values[low:high]
            order_times = times[mine] if timed and high > low and np.isfinite(times[mine]).all() else None
            series, superseded = ordered(name, meaning, clock, order_values, axis, order_times)
            run.series[name] = series
            if superseded is not None:
                run.series[superseded.name] = superseded

    def _fill_apart(self, run: Run) -> None:
        longest = (-1, -1)
        restarts: list[Event] = []
        for name, apart in self._apart.items():
            steps, values, times = (np.frombuffer(store) for store in (apart.steps, apart.values, apart.times))
            axis: Axis = "step"
            if len(steps) > 1 and (steps == steps[0]).all():  # the step was never given: only the order is known
                steps, axis = np.arange(len(steps), dtype=np.float64), "row"
            rank = (int(apart.meaning.kind in ("loss", "reward") and apart.meaning.split in ("", "train")), len(steps))
            if rank > longest:
                longest, restarts = rank, restarts_in(steps)
            known_times = times if np.isfinite(times).all() else None
            series, superseded = ordered(name, apart.meaning, steps, values, axis, known_times)
            run.series[name] = series
            if superseded is not None:
                run.series[superseded.name] = superseded
        if not self._columns:  # rows have shown their restarts already
            run.events[:0] = restarts


def _without_false_starts(runs: list[Run]) -> list[Run]:
    """Without attempts that were broken off at once and begun again, or a few lines that were pasted twice: the run
    that follows names them. One that did not stay finite or got worse is no false start, and the last is what runs."""
    lengths = [len(_objective_of(run)) for run in runs]
    kept: list[Run] = []
    skipped: list[str] = []
    for place, run in enumerate(runs):
        longest = max(lengths[place + 1 :], default=0)
        if 0 < lengths[place] < FALSE_START * longest and not run.events and _no_worse(_objective_of(run)):
            skipped.append(f"{run.name} ({lengths[place]} rows)")
            continue
        if skipped:
            run.lost.append(f"{', '.join(skipped)}: broken off and begun again")
            skipped = []
        kept.append(run)
    return kept


def _objective_of(run: Run) -> Floats:
    """The values of the longest training loss or reward."""
    found = [one.values for one in run.series.values() if one.meaning.kind in ("loss", "reward")
             and one.meaning.split in ("", "train")]  # fmt: skip
    return max(found, key=len, default=np.empty(0))


def _no_worse(values: Floats) -> bool:
    worse = NO_WORSE * abs(float(values[0]))
    return bool(np.isfinite(values).all()) and float(values[-1]) <= float(values[0]) + worse


def _as_slice(rows: NDArray[np.int64]) -> NDArray[np.int64] | slice:
    """Rows without a gap as a slice, which takes a view instead of a copy."""
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def _reference(columns: Mapping[str, tuple[Meaning, NDArray[np.int64], Floats]]) -> NDArray[np.int64]:
    """The rows of the series that tells runs apart best: the longest training loss, else the longest of all."""
    best: tuple[int, int] = (-1, -1)
    rows = np.empty(0, dtype=np.int64)
    for meaning, column_rows, _ in columns.values():
        key = (int(meaning.kind in ("loss", "reward") and meaning.split in ("", "train")), len(column_rows))
        if key > best and len(column_rows):
            best, rows = key, column_rows
    return rows
