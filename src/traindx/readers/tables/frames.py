"""Rows of a table or of JSON lines, in columns, and what the columns are for.

A column's role is read off its name: one says train or val, one tells runs apart, one names the metric of each row
(long format), one holds the time of day, one counts; the others are metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from traindx.meaning import meaning_of, step_rank, tokens_of
from traindx.run import Floats

Cell = TypeVar("Cell", str, bytes)
NAN = float("nan")
Mask = NDArray[np.bool_]
Column = tuple[Floats, Mask | None]  # the values, and where there is one (None: everywhere)
_PERIOD_SAMPLE = 256  # rows in which a repeating order of names must show

SPLIT_NAMES = frozenset({
    "split", "phase", "mode", "set", "subset", "partition", "stage", "dataset", "datasplit", "type", "event", "kind",
    "loop",
    "trainval", "traintest",
})  # fmt: skip
TAG_NAMES = frozenset({
    "tag", "tags", "metric", "metrics", "metricname", "metrickey", "key", "name", "variable", "measure", "series",
    "scalar",
    "field",
})  # fmt: skip
VALUE_NAMES = frozenset({"value", "values", "metricvalue", "scalarvalue", "val"})
RUN_NAMES = frozenset({
    "run", "runid", "runname", "runuuid", "experiment", "experimentid", "experimentname", "exp", "expname", "expid",
    "model",
    "modelname", "arch", "architecture", "fold", "kfold", "cvfold", "foldid", "trial", "trialid", "trialname", "client",
    "clientid", "agent", "agentid", "variant", "method", "algo", "algorithm", "name", "config", "configid", "setting",
    "job",
    "jobid", "session", "sessionid", "repeat", "replicate",
})  # fmt: skip
_NUMERIC_RUN_NAMES = RUN_NAMES - {"name", "config", "method", "setting"}
STAMP_NAMES = frozenset(
    {"timestamp", "walltime", "datetime", "date", "ts", "createdat", "unixtime", "time", "walltimes"}
)
ELAPSED_WORDS = frozenset({"time", "elapsed", "total", "wall", "duration", "seconds", "secs", "sec", "s", "relative"})
_PLAN_WORDS = frozenset({"num", "total", "max", "epochs", "n"})
_CONSTANT_ROWS = 3
_COUNTING_ROWS = 8  # changes from row to row that show whether a column counts
_COUNTING = 0.8  # of them rise: it counts
_IDLE, _FALLING = 0.5, 0.1  # fewer rise and as many as this fall: it does not


class Labels:
    """A text column: each row's word by its place in `words`. Without codes the words come round in this order."""

    def __init__(self, codes: NDArray[np.intp] | None, words: list[str], count: int = 0) -> None:
        self.words = words
        self.cyclic = codes is None
        self._codes = codes
        self._count = count

    @property
    def codes(self) -> NDArray[np.intp]:
        if self._codes is None:
            self._codes = np.arange(self._count, dtype=np.intp) % len(self.words)
        return self._codes

    def some(self, rows: slice) -> Labels:
        """Those of some rows; of a few rows only a few codes are made."""
        if self._codes is None:
            start, stop, _ = rows.indices(self._count)
            return Labels(np.arange(start, stop, dtype=np.intp) % len(self.words), self.words)
        return Labels(self._codes[rows], self.words)

    @classmethod
    def of(cls, cells: Sequence[Cell]) -> Labels:
        count = len(cells)
        start = list(dict.fromkeys(cells[:_PERIOD_SAMPLE]))
        width = len(start)
        # logs write the same few names over and over in one order: comparing is cheaper than looking each one up
        if count > 4 * width and cells[width:] == cells[:-width]:
            return cls(None, [as_text(cell) for cell in start], count)
        place = {cell: index for index, cell in enumerate(dict.fromkeys(cells))}
        codes = np.fromiter(map(place.__getitem__, cells), dtype=np.intp, count=count)
        return cls(codes, [as_text(cell) for cell in place])

    @classmethod
    def joined(cls, parts: Sequence[Labels]) -> Labels:
        """The rows of all parts, one after the other."""
        if len(parts) == 1:
            return parts[0]
        words, count = parts[0].words, 0
        for part in parts:
            turn = count % len(words)
            if not part.cyclic or part.words != words[turn:] + words[:turn]:
                break
            count += part._count
        else:
            return cls(None, words, count)
        place = {word: index for index, word in enumerate(dict.fromkeys(word for part in parts for word in part.words))}
        codes = [np.array([place[word] for word in part.words], dtype=np.intp)[part.codes] for part in parts]
        return cls(np.concatenate(codes), list(place))


@dataclass(slots=True)
class Frame:
    """Consecutive rows of a log, in columns. A blank cell is NaN in the values and not present in the mask."""

    length: int
    numbers: dict[str, Column] = field(default_factory=dict)
    labels: dict[str, Labels] = field(default_factory=dict)
    nulls: dict[str, Mask] = field(default_factory=dict)  # where a JSON row says null for a loss

    def rows(self, mask: Mask) -> Frame:
        return Frame(
            int(mask.sum()),
            {
                name: (values[mask], None if here is None else here[mask])
                for name, (values, here) in self.numbers.items()
            },
            {name: Labels(label.codes[mask], label.words) for name, label in self.labels.items()},
            {name: null[mask] for name, null in self.nulls.items()},
        )


@lru_cache(maxsize=4096)
def joined_name(name: str) -> str:
    return "".join(tokens_of(name))


@lru_cache(maxsize=4096)
def role_of(name: str) -> str:
    """What a text column of this name is for: 'split', 'tag', 'run', 'time', or '' for nothing."""
    joined = joined_name(name)
    for role, names in (("split", SPLIT_NAMES), ("tag", TAG_NAMES), ("run", RUN_NAMES), ("time", STAMP_NAMES)):
        if joined in names:
            return role
    return ""


def long_columns(frame: Frame) -> tuple[Labels | None, Column | None]:
    """The tag and value columns of a long table: a column of names, one of numbers, and nothing else but counters."""
    tag = next((label for name, label in frame.labels.items() if role_of(name) == "tag"), None)
    if tag is None:
        return None, None
    metrics = [
        name for name in frame.numbers if not is_counter(name) and meaning_of(name).kind not in ("time", "stamp")
    ]
    values = [name for name in metrics if joined_name(name) in VALUE_NAMES]
    value = (
        values[0] if values else metrics[0] if len(metrics) == 1 and meaning_of(metrics[0]).kind == "other" else None
    )
    return (tag, frame.numbers[value]) if value is not None else (None, None)


def run_column(frame: Frame) -> str:
    """The column that tells runs apart: named like one, with few values that repeat."""
    has_value = long_columns(frame)[0] is not None
    for name, label in frame.labels.items():
        joined = joined_name(name)
        if (
            joined in RUN_NAMES
            and not (has_value and joined in TAG_NAMES)
            and len(label.words) * 2 <= max(frame.length, 2)
        ):
            return name
    for name, (values, here) in frame.numbers.items():
        if joined_name(name) in _NUMERIC_RUN_NAMES and here is None and np.all(values == np.floor(values)):
            others = [other for other in frame.numbers if other != name and is_counter(other)]
            if others and len(np.unique(values)) * 2 <= max(frame.length, 2):
                return name
    return ""


def as_labels(values: Floats) -> Labels:
    """A column of numbers as words, in the order they first appear."""
    unique, first, codes = np.unique(values, return_index=True, return_inverse=True)
    order = np.argsort(first, kind="stable")
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order))
    return Labels(place[codes.reshape(-1)], [f"{unique[index]:g}" for index in order])


def is_counter(name: str) -> bool:
    return meaning_of(name).kind in ("step", "epoch")


def counters_of(frame: Frame) -> dict[str, Floats]:
    return {name: values for name, (values, _) in frame.numbers.items() if is_counter(name)}


def constant_counters(frame: Frame) -> dict[str, float]:
    """Columns named like a counter that do not count: the planned number of steps, said again in every row."""
    found: dict[str, float] = {}
    for name, values in counters_of(frame).items():
        planned = meaning_of(name).kind == "step" or set(tokens_of(name)) & _PLAN_WORDS
        if planned and len(values) >= _CONSTANT_ROWS and bool((values == values[0]).all()):
            found[name] = float(values[0])
    return found


def idle_counters(frame: Frame) -> set[str]:
    """Columns named like a step that say something else of each row (the steps of an episode), beside one that
    counts."""
    rises: dict[str, float] = {}
    idle: set[str] = set()
    for name, values in counters_of(frame).items():
        change = np.diff(values)
        if meaning_of(name).kind != "step" or len(change) < _COUNTING_ROWS or not np.isfinite(change).all():
            continue
        rises[name] = float(np.mean(change > 0))
        if rises[name] < _IDLE and float(np.mean(change < 0)) > _FALLING:
            idle.add(name)
    return idle if any(share > _COUNTING for share in rises.values()) else set()


def best_counter(counters: dict[str, Floats]) -> Floats | None:
    names = [name for name in counters if meaning_of(name).kind == "step"]
    return counters[max(names, key=step_rank)] if names else None


def first_and_last(counters: dict[str, Floats], kind: str) -> tuple[float, float]:
    if kind == "step":
        column = best_counter(counters)
    else:
        column = next((values for name, values in counters.items() if meaning_of(name).kind == kind), None)
    if column is None:
        return NAN, NAN
    if not np.isfinite(column[[0, -1]]).all():
        column = column[np.isfinite(column)]
    return (float(column[0]), float(column[-1])) if len(column) else (NAN, NAN)


def keeps_rising(values: Floats) -> bool:
    known = values[np.isfinite(values)]
    return len(known) >= 4 and bool(np.all(np.diff(known) >= 0)) and known[-1] > 2 * known[0]


def as_text(cell: str | bytes) -> str:
    return (cell if isinstance(cell, str) else cell.decode("utf-8", errors="replace")).strip()


def seconds_of(text: str) -> float:
    """A date and time as seconds; NaN when it is none."""
    try:
        return datetime.fromisoformat(text.strip().replace(",", ".")).timestamp()
    except (ValueError, OverflowError, OSError):
        return NAN
