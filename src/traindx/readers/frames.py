"""Rows of a table or of JSON lines, in columns, and what their text columns mean.

Both engines turn a stretch of the file into a Frame. The Sink reads the roles of its columns off their names: a column
that says train or val, one that tells runs apart, one that names the metric of each row (long format), one that holds the
time of day; everything else goes to the RunBuilder as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import Meaning, Split, meaning_of, step_rank, tokens_of
from traindx.readers.build import NAN, RunBuilder
from traindx.readers.source import Source
from traindx.run import Event, Floats, Run

Cell = TypeVar("Cell", str, bytes)
Mask = NDArray[np.bool_]
Column = tuple[Floats, Mask | None]  # the values, and where there is one (None: everywhere)
_MAX_RUNS = 256  # a key with more values than this does not name runs
_PERIOD_SAMPLE = 256  # rows in which a repeating order of names must show
_MAX_RESTARTS = 10  # a header repeated more often is a habit of the log, not a restart

SPLIT_NAMES = frozenset({
    "split", "phase", "mode", "set", "subset", "partition", "stage", "dataset", "datasplit", "type", "event", "kind", "loop",
    "trainval", "traintest",
})  # fmt: skip
TAG_NAMES = frozenset({
    "tag", "tags", "metric", "metrics", "metricname", "metrickey", "key", "name", "variable", "measure", "series", "scalar",
    "field",
})  # fmt: skip
VALUE_NAMES = frozenset({"value", "values", "metricvalue", "scalarvalue", "val"})
RUN_NAMES = frozenset({
    "run", "runid", "runname", "runuuid", "experiment", "experimentid", "experimentname", "exp", "expname", "expid", "model",
    "modelname", "arch", "architecture", "fold", "kfold", "cvfold", "foldid", "trial", "trialid", "trialname", "client",
    "clientid", "agent", "agentid", "variant", "method", "algo", "algorithm", "name", "config", "configid", "setting", "job",
    "jobid", "session", "sessionid", "repeat", "replicate",
})  # fmt: skip
_NUMERIC_RUN_NAMES = RUN_NAMES - {"name", "config", "method", "setting"}
_STAMP_NAMES = frozenset(
    {"timestamp", "walltime", "datetime", "date", "ts", "createdat", "unixtime", "time", "walltimes"}
)
_ELAPSED_WORDS = frozenset({"time", "elapsed", "total", "wall", "duration", "seconds", "secs", "sec", "s", "relative"})
_NO_METRIC = frozenset({"step", "epoch", "stamp"})


@dataclass(slots=True)
class Labels:
    """A text column: each row's word by its place in `words`."""

    codes: NDArray[np.intp]
    words: list[str]

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Labels:
        count = len(cells)
        start = list(dict.fromkeys(cells[:_PERIOD_SAMPLE]))
        width = len(start)
        # logs write the same few names over and over in one order: comparing is cheaper than looking each one up
        if count > 4 * width and cells[width:] == cells[:-width]:
            return cls(np.resize(np.arange(width, dtype=np.intp), count), [_as_text(cell) for cell in start])
        place = {cell: index for index, cell in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(map(place.__getitem__, cells), dtype=np.intp, count=count)
        return cls(codes, [_as_text(cell) for cell in place])


@dataclass(slots=True)
class Frame:
    """Consecutive rows of a log, in columns. A blank cell is NaN in the values and not present in the mask."""

    length: int
    numbers: dict[str, Column] = field(default_factory=dict)
    labels: dict[str, Labels] = field(default_factory=dict)

    def rows(self, mask: Mask) -> Frame:
        return Frame(
            int(mask.sum()),
            {
                name: (values[mask], None if here is None else here[mask])
                for name, (values, here) in self.numbers.items()
            },
            {name: Labels(label.codes[mask], label.words) for name, label in self.labels.items()},
        )


@lru_cache(maxsize=4096)
def _joined(name: str) -> str:
    return "".join(tokens_of(name))


@lru_cache(maxsize=4096)
def role_of(name: str) -> str:
    """What a text column of this name is for: 'split', 'tag', 'run', 'time', or '' for nothing."""
    joined = _joined(name)
    for role, names in (("split", SPLIT_NAMES), ("tag", TAG_NAMES), ("run", RUN_NAMES), ("time", _STAMP_NAMES)):
        if joined in names:
            return role
    return ""


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
        self._settle_cut(run, builder, frame)
        time = self._times(builder, frame)
        tag, value = _long_columns(frame)
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
            builder.table(columns or _counters(frame), present, time=time)
            self.empty = self.empty and all(meaning_of(name).kind in _NO_METRIC for name in columns)
            return
        self.empty = False

    def finish(self) -> list[Run]:
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
            self._run_column = _run_column(frame)
        key = self._run_column
        label = frame.labels.get(key) if key else None
        if key and label is None and key in frame.numbers:
            label = _as_labels(frame.numbers[key][0])
        if label is None or len(self._builders) + len(label.words) > _MAX_RUNS:
            yield "", frame
            return
        frame = Frame(
            frame.length,
            {name: column for name, column in frame.numbers.items() if name != key},
            {name: other for name, other in frame.labels.items() if name != key},
        )
        for code, word in enumerate(label.words):
            mask = label.codes == code
            if mask.all():
                yield word, frame
            elif mask.any():
                yield word, frame.rows(mask)

    def _settle_cut(self, run: str, builder: RunBuilder, frame: Frame) -> None:
        counters = _counters(frame)
        step, epoch = _first_and_last(counters, "step"), _first_and_last(counters, "epoch")
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
                seconds = np.array([_seconds(word) for word in label.words], dtype=np.float64)[label.codes]
                if np.isfinite(seconds).any():
                    return seconds
        for name, (values, _) in frame.numbers.items():
            meaning = meaning_of(name)
            if meaning.kind == "stamp" and _joined(name) in _STAMP_NAMES:
                return values
            if name not in self._elapsed and meaning.kind in ("time", "step_time"):
                self._elapsed[name] = set(tokens_of(name)) <= _ELAPSED_WORDS and _keeps_rising(values)
            if self._elapsed.get(name):
                builder.declare(name, Meaning("time", meaning.split))
                return values
        return None


def _feed_split(builder: RunBuilder, frame: Frame, split: Labels, time: Floats | None) -> None:
    """The rows stay in their order; a value counts for its row's split under a name that says so."""
    columns = _counters(frame)
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
    counters = _counters(frame)
    step = _best_counter(counters)
    epoch = next((column for name, column in counters.items() if meaning_of(name).kind == "epoch"), None)
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


def _long_columns(frame: Frame) -> tuple[Labels | None, Column | None]:
    """The tag and value columns of a long table: a column of names, one of numbers, and nothing else but counters."""
    tag = next((label for name, label in frame.labels.items() if role_of(name) == "tag"), None)
    if tag is None:
        return None, None
    metrics = [
        name for name in frame.numbers if not _is_counter(name) and meaning_of(name).kind not in ("time", "stamp")
    ]
    values = [name for name in metrics if _joined(name) in VALUE_NAMES]
    value = (
        values[0] if values else metrics[0] if len(metrics) == 1 and meaning_of(metrics[0]).kind == "other" else None
    )
    return (tag, frame.numbers[value]) if value is not None else (None, None)


def _run_column(frame: Frame) -> str:
    """The column that tells runs apart: named like one, with few values that repeat."""
    has_value = _long_columns(frame)[0] is not None
    for name, label in frame.labels.items():
        joined = _joined(name)
        if (
            joined in RUN_NAMES
            and not (has_value and joined in TAG_NAMES)
            and len(label.words) * 2 <= max(frame.length, 2)
        ):
            return name
    for name, (values, here) in frame.numbers.items():
        if _joined(name) in _NUMERIC_RUN_NAMES and here is None and np.all(values == np.floor(values)):
            others = [other for other in frame.numbers if other != name and _is_counter(other)]
            if others and len(np.unique(values)) * 2 <= max(frame.length, 2):
                return name
    return ""


def _as_labels(values: Floats) -> Labels:
    unique, codes = np.unique(values, return_inverse=True)
    order = np.argsort([np.argmax(codes == code) for code in range(len(unique))], kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return Labels(place[codes.reshape(-1)], [f"{unique[index]:g}" for index in order])


def _is_counter(name: str) -> bool:
    return meaning_of(name).kind in ("step", "epoch")


def _counters(frame: Frame) -> dict[str, Floats]:
    return {name: values for name, (values, _) in frame.numbers.items() if _is_counter(name)}


def _best_counter(counters: dict[str, Floats]) -> Floats | None:
    names = [name for name in counters if meaning_of(name).kind == "step"]
    return counters[max(names, key=step_rank)] if names else None


def _first_and_last(counters: dict[str, Floats], kind: str) -> tuple[float, float]:
    if kind == "step":
        column = _best_counter(counters)
    else:
        column = next((values for name, values in counters.items() if meaning_of(name).kind == kind), None)
    if column is None:
        return NAN, NAN
    for ends in (column[[0, -1]], column[np.isfinite(column)]):
        if len(ends) and np.isfinite(ends[[0, -1]]).all():
            return float(ends[0]), float(ends[-1])
    return NAN, NAN


def _keeps_rising(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return len(known) >= 4 and bool(np.all(np.diff(known) >= 0)) and known[-1] > 2 * known[0]


def _as_text(cell: str | bytes) -> str:
    return (cell if isinstance(cell, str) else cell.decode("utf-8", errors="replace")).strip()


def _seconds(text: str) -> float:
    """A date and time as seconds; NaN when it is none."""
    try:
        return datetime.fromisoformat(text.strip().replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return NAN
