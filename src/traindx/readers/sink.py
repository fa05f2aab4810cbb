"""The Sink: frames in file order become runs.

Rows are handed to the right run's builder, long rows are spread over their metrics, values get the split of their row,
and a header in the middle of the file is settled: a new run, or the same one going on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

import numpy as np

from traindx.meaning import Meaning, Split, meaning_of, tokens_of
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.readers.tables.frames import (
    ELAPSED_WORDS,
    NAN,
    STAMP_NAMES,
    Column,
    Frame,
    Labels,
    Mask,
    as_labels,
    best_counter,
    constant_counters,
    counters_of,
    first_and_last,
    idle_counters,
    joined_name,
    keeps_rising,
    long_columns,
    role_of,
    run_column,
    seconds_of,
)
from traindx.run import Event, Floats, Run

_MAX_RUNS = 256  # a key with more values than this does not name runs
_MAX_RESTARTS = 10  # a header repeated more often is a habit of the log, not a restart
_NULL_TAIL = 5  # nulls on end that are no accident
_OVER_HABIT = 2  # times the longest stretch of nulls that a number followed
_NO_METRIC = frozenset({"step", "epoch", "stamp"})


class Sink:
    """Takes frames in file order and gives the runs they tell of."""

    def __init__(self, source: Source, format: str, *, one_run: bool = False, elapsed: Iterable[str] = ()) -> None:
        """`elapsed` names columns known to hold the seconds since the start."""
        self.main = RunBuilder(source.name, format, one_run=one_run)
        self._builders: dict[str, RunBuilder] = {"": self.main}
        self._last: dict[str, tuple[float, float]] = {}  # the last step and epoch of each run
        self._cutting: set[str] = set()
        self._run_column: str | None = None  # None: not decided yet; '': there is none
        self._elapsed: dict[str, bool] = dict.fromkeys(elapsed, True)
        self._restarts: list[Event] = []
        self._planned: dict[str, float] | None = None  # columns that repeat a setting; None: not looked for yet
        self._idle: set[str] = set()  # columns named like a step that do not count
        self._null_tails: dict[tuple[str, str], list[Frame]] = {}
        self._null_habit: dict[tuple[str, str], int] = {}  # the most nulls on end that a number followed
        self._unused: set[tuple[str, str]] = set()  # losses that say null in rows where another loss is a number
        self.empty = True  # no metric has had a value yet

    def new_run(self) -> None:
        """The log starts over here (its header is written again): a new run, unless its counter just goes on."""
        self._cutting.update(self._builders)

    def add(self, frame: Frame) -> None:
        if not frame.length:
            return
        for name, part in self._by_run(frame):
            self.feed(name, part)

    def feed(self, run: str, frame: Frame) -> None:
        """Rows that all belong to the run of this name."""
        builder = self._builders.get(run)
        if builder is None:
            builder = self._builders[run] = RunBuilder(self.main.source, self.main.format, one_run=self.main.one_run)
        self._set_plans_aside(frame)
        self._settle_cut(run, builder, frame)
        self._note_nulls(run, frame)
        time = self._times(builder, frame)
        tag, value = long_columns(frame)
        split = next(
            (label for name, label in frame.labels.items() if role_of(name) == "split" and _splits(label)), None
        )
        if tag is not None and value is not None:
            _feed_long(builder, frame, tag, value, split, time)
        elif split is not None:
            _feed_split(builder, frame, split, time)
        else:
            columns = {name: values for name, (values, here) in frame.numbers.items() if here is None or here.any()}
            present = {name: here for name, (_, here) in frame.numbers.items() if here is not None}
            builder.table(columns or counters_of(frame), present, time=time)
            self.empty = self.empty and all(meaning_of(name).kind in _NO_METRIC for name in columns)
            return
        self.empty = False

    def finish(self) -> list[Run]:
        self._read_nulls()
        runs: list[Run] = []
        if 0 < len(self._restarts) <= _MAX_RESTARTS:
            self.main.events[:0] = self._restarts
        used = {name: builder for name, builder in self._builders.items() if len(builder)} or {"": self.main}
        for name, builder in used.items():
            builder.config = {**self.main.config, **builder.config}
            builder.lost = self.main.lost
            if builder is not self.main:
                builder.events = [*self.main.events, *builder.events]
            if name and len(used) == 1 and self._run_column:
                builder.config[self._run_column] = name
            for run in builder.finish():
                if name and len(used) > 1:
                    run.name = f"{name}, {run.name}" if run.name else name
                runs.append(run)
        return runs

    def declare(self, names: Iterable[str]) -> None:
        """Name metrics that a table has columns for but no value yet."""
        for name in names:
            if name and meaning_of(name).kind not in _NO_METRIC:
                self.main.declare(name)

    def __len__(self) -> int:
        return sum(len(builder) for builder in self._builders.values())

    def _by_run(self, frame: Frame) -> Iterator[tuple[str, Frame]]:
        if self._run_column is None:
            self._run_column = run_column(frame)
        key = self._run_column
        label = frame.labels.get(key) if key else None
        if key and label is None and key in frame.numbers:
            label = as_labels(frame.numbers[key][0])
        if not key or label is None or len(self._builders) + len(label.words) > _MAX_RUNS:
            yield "", frame
            return
        frame = Frame(
            frame.length,
            {name: column for name, column in frame.numbers.items() if name != key},
            {name: other for name, other in frame.labels.items() if name != key},
            frame.nulls,
        )
        for code, word in enumerate(label.words):
            mask = label.codes == code
            if mask.all():
                yield word, frame
            elif mask.any():
                yield word, frame.rows(mask)

    def _set_plans_aside(self, frame: Frame) -> None:
        if self._planned is None and frame.length > 1:
            self._planned = constant_counters(frame)
            self.main.config = {**self._planned, **self.main.config}
            self._idle = idle_counters(frame)
        for name in {*(self._planned or ()), *self._idle}:
            frame.numbers.pop(name, None)

    def _note_nulls(self, run: str, frame: Frame) -> None:
        """Keep the rows since the last number of each loss that say null."""
        for name in {*frame.nulls, *(name for known, name in self._null_tails if known == run)}:
            column = frame.numbers.get(name)
            here = np.zeros(frame.length, dtype=np.bool_) if column is None else column[1]
            numbers = np.flatnonzero(np.ones(frame.length) if here is None else here)
            tail = self._null_tails.setdefault((run, name), [])
            start = 0
            null = frame.nulls.get(name, np.zeros(frame.length, dtype=np.bool_)).copy()
            if len(numbers):
                carried = sum(rows.length for rows in tail)
                stretches = np.diff(np.cumsum(null)[numbers], prepend=-carried)
                self._null_habit[run, name] = max(int(stretches.max()), self._null_habit.get((run, name), 0))
                tail.clear()
                start = int(numbers[-1]) + 1
            null[:start] = False
            if null.any() and _another_loss(frame, name, null):
                self._unused.add((run, name))
            if null.any():
                counters: dict[str, Column] = {name: (values, None) for name, values in counters_of(frame).items()}
                tail.append(Frame(frame.length, counters).rows(null))

    def _read_nulls(self) -> None:
        """JSON writers that may not say NaN say null: a loss that ends in nulls became NaN. Nulls of a field that is
        filled in now and then (an evaluation every hundred rows) or that a template has and this run never used are no
        value."""
        for (run, name), tail in self._null_tails.items():
            count = sum(frame.length for frame in tail)
            habit = self._null_habit.get((run, name))
            if count < _NULL_TAIL or (habit is None and (run, name) in self._unused):
                continue
            if count <= _OVER_HABIT * (habit or 0):
                continue
            self.main.lost.append(f"'{name}' is null in its last {count} rows, read as NaN")
            for frame in tail:
                columns = {**counters_of(frame), name: np.full(frame.length, NAN)}
                self._builders[run].table(columns)

    def _settle_cut(self, run: str, builder: RunBuilder, frame: Frame) -> None:
        counters = counters_of(frame)
        step, epoch = first_and_last(counters, "step"), first_and_last(counters, "epoch")
        if run in self._cutting:
            self._cutting.discard(run)
            last_step, last_epoch = self._last.get(run, (NAN, NAN))
            goes_on = step[0] > last_step if step[0] == step[0] and last_step == last_step else epoch[0] > last_epoch
            if goes_on:
                tick = step[0] if step[0] == step[0] else epoch[0]
                self._restarts.append(Event("restart", "the header is written again and the counter goes on", tick))
            else:
                builder.new_run()
        self._last[run] = (step[1], epoch[1])

    def _times(self, builder: RunBuilder, frame: Frame) -> Floats | None:
        for name, label in frame.labels.items():
            if role_of(name) == "time":
                seconds = np.array([seconds_of(word) for word in label.words], dtype=np.float64)[label.codes]
                if np.isfinite(seconds).any():
                    return seconds
        for name, (values, _) in frame.numbers.items():
            meaning = meaning_of(name)
            if meaning.kind == "stamp" and joined_name(name) in STAMP_NAMES:
                return values
            if name not in self._elapsed and meaning.kind in ("time", "step_time"):
                self._elapsed[name] = set(tokens_of(name)) <= ELAPSED_WORDS and keeps_rising(values)
            if self._elapsed.get(name):
                builder.declare(name, Meaning("time", meaning.split))
                return values
        return None


def _another_loss(frame: Frame, name: str, rows: Mask) -> bool:
    """Whether a loss of another name is a number in some of these rows."""
    return any(
        other != name and meaning_of(other).kind == "loss" and bool((rows if here is None else rows & here).any())
        for other, (_, here) in frame.numbers.items()
    )


def _feed_split(builder: RunBuilder, frame: Frame, split: Labels, time: Floats | None) -> None:
    """The rows stay in their order; a value counts for its row's split under a name that says so."""
    columns = counters_of(frame)
    present: dict[str, Mask] = {}
    for name, (values, here) in frame.numbers.items():
        if name in columns:
            continue
        masks = _split_masks(split, frame.length)
        if meaning_of(name).kind == "lr" and any(word == "train" for word, _ in masks):
            masks = [(word, mask) for word, mask in masks if word not in ("val", "test")]  # the same rate once more
        for word, mask in masks:
            key = _named(builder, name, word)
            shown = mask if here is None else mask & here
            if not shown.any():
                continue
            columns[key] = values
            present[key] = present[key] | shown if key in present else shown
    builder.table(columns, present, time=time)


def _feed_long(
    builder: RunBuilder, frame: Frame, tag: Labels, value: Column, split: Labels | None, time: Floats | None
) -> None:
    """One value a row, named by the row's tag."""
    values, here = value
    counters = counters_of(frame)
    step = best_counter(counters)
    epoch = next((column for name, column in counters.items() if meaning_of(name).kind == "epoch"), None)
    if tag.cyclic and step is not None and epoch is None and here is None and split is None:
        first, last = _rounds(tag.words, step)
        if last > first:
            _feed_rows(builder, frame, tag, value, time, slice(0, first))
            _feed_rounds(
                builder,
                tag.words,
                first,
                step[first:last],
                values[first:last],
                None if time is None else time[first:last],
            )
            _feed_rows(builder, frame, tag, value, time, slice(last, None))
            return
    columns: dict[str, Floats] = {}
    present: dict[str, Mask] = {}
    for code, word in enumerate(tag.words):
        mask = tag.codes == code
        if here is not None:
            mask &= here
        if not mask.any():
            continue
        kind = meaning_of(word).kind
        if kind == "epoch" and epoch is None:
            epoch = np.where(mask, values, NAN)
        if kind in ("epoch", "step", "stamp"):
            continue
        for part, rows in _split_masks(split, frame.length):
            shown = mask & rows
            key = _named(builder, word, part)
            if shown.any():
                columns[key] = values
                present[key] = present[key] | shown if key in present else shown
    builder.table(columns, present, step=step, epoch=epoch, time=time)


def _feed_rows(builder: RunBuilder, frame: Frame, tag: Labels, value: Column, time: Floats | None, rows: slice) -> None:
    """A few of the long rows, on their own."""
    values = value[0][rows]
    if len(values):
        counters: dict[str, Column] = {name: (ticks[rows], None) for name, ticks in counters_of(frame).items()}
        times = None if time is None else time[rows]
        _feed_long(builder, Frame(len(values), counters), tag.some(rows), (values, None), None, times)


def _rounds(words: list[str], step: Floats) -> tuple[int, int]:
    """Which of the long rows are whole rounds: the same metrics in the same order, all at one step."""
    width = len(words)
    changes = np.flatnonzero(step[1 : width + 1] != step[:width])
    first = int(changes[0] + 1) % width if len(changes) else 0
    last = first + (len(step) - first) // width * width
    rounds = step[first:last].reshape(-1, width)
    return (first, last) if len(set(words)) == width and (rounds == rounds[:, :1]).all() else (0, 0)


def _feed_rounds(
    builder: RunBuilder, words: list[str], first: int, step: Floats, values: Floats, time: Floats | None
) -> None:
    """Whole rounds are a wide table; its first column is the metric of row `first`."""
    width = len(words)
    columns = {
        words[(first + place) % width]: column
        for place, column in enumerate(np.ascontiguousarray(values.reshape(-1, width).T))
    }
    epoch = next((column for word, column in columns.items() if meaning_of(word).kind == "epoch"), None)
    # a copy, so that the other steps need not be kept
    builder.table(columns, step=step[::width].copy(), epoch=epoch, time=None if time is None else time[::width])


def _split_masks(split: Labels | None, length: int) -> list[tuple[Split, Mask]]:
    """Each split there is with its rows; words that mean the same split are taken together."""
    if split is None:
        return [("", np.ones(length, dtype=np.bool_))]
    masks: dict[Split, Mask] = {}
    for code, word in enumerate(split.words):
        key = meaning_of(word).split
        mask = split.codes == code
        masks[key] = masks[key] | mask if key in masks else mask
    return list(masks.items())


def _named(builder: RunBuilder, name: str, split: Split) -> str:
    """The name of a metric in rows of this split; one that says its split itself keeps its name."""
    meaning = meaning_of(name)
    if not split or meaning.split or meaning.kind in ("lr", "epoch", "step", "stamp"):
        return name
    key = f"{split}/{name}"
    if meaning_of(key).kind != meaning.kind:
        builder.declare(key, replace(meaning, split=split))
    return key


def _splits(label: Labels) -> bool:
    return any(meaning_of(word).split for word in label.words)
