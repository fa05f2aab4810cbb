"""The curves in a JSON document, however they are nested: lists of rows, columns as lists, columns by index, several
runs under their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from traindx.meaning import meaning_of
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.frames import Column, Frame, Labels
from traindx.readers.tables.jsonrows import frames_of, head_rows
from traindx.readers.tables.jsontext import parse_document
from traindx.run import Floats, flatten

_MAX_DEPTH = 8
_MAX_COLUMNS = 5_000


@lru_cache(maxsize=8)
def peek(source: Source) -> Any:
    """What the head of this file holds if it is one JSON document (of a long one the first part); None otherwise."""
    if (
        not source.is_text
        or not source.text_head.lstrip("\ufeff \r\n\t").startswith(("{", "["))
        or len(head_rows(source)) > 1
    ):
        return None
    return parse_document(source.text_head.encode("utf-8", errors="replace"))[0]


def load_document(source: Source) -> tuple[Any, str]:
    """The whole document, and what was lost of it."""
    data = b"".join(source.chunks())
    if not source.encoding.startswith("utf-8"):
        data = data.decode(source.encoding, errors="replace").encode("utf-8", errors="replace")
    return parse_document(data)


@dataclass
class Curves:
    """What was found in a document, by path."""

    columns: dict[str, Column] = field(default_factory=dict)
    rows: dict[str, list[Mapping[str, Any]]] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.columns or self.rows)

    def names(self) -> Iterator[str]:
        """The names of all metrics there are."""
        yield from self.columns
        for rows in self.rows.values():
            for row in rows[:20]:
                yield from row


def curves_in(value: Any, title: str = "values") -> Curves:
    """The curves in this value; a bare list of numbers goes by the title."""
    found = Curves()
    _walk(value, "", title, found, 0)
    return found


def feed_document(value: Any, sink: Sink, title: str) -> None:
    """Feed all curves of a document to the sink, each of several runs under its name."""
    runs = runs_in(value)
    for name, part in runs.items() if runs else [("", value)]:
        _feed(curves_in(part, title), sink, name)
    if runs and isinstance(value, Mapping):
        sink.main.config.update(
            flatten({key: item for key, item in value.items() if not isinstance(item, Mapping | list)})
        )


def runs_in(value: Any) -> dict[str, Any]:
    """The runs a document keeps apart by name: several members of one shape whose names do not say train or val."""
    for _ in range(3):  # {"results": {"runs": {…}}}
        if not isinstance(value, Mapping):
            return {}
        members = {str(key): item for key, item in value.items() if isinstance(item, Mapping | list)}
        if len(members) > 1 and all(_is_run_name(name) for name in members):
            shapes = [set(curves_in(item).names()) for item in list(members.values())[:20]]
            named = all(isinstance(item, Mapping) or _is_rows(item) for item in members.values())
            if named and all(shapes) and len(set.intersection(*shapes)) >= 0.5 * max(map(len, shapes)):
                return members
        if len(members) != 1:
            return {}
        value = next(iter(members.values()))
    return {}


def _is_run_name(name: str) -> bool:
    meaning = meaning_of(name)
    return not meaning.split and meaning.kind in ("other", "epoch", "step", "stamp") and not name.isdigit()


def _walk(value: Any, path: str, title: str, found: Curves, depth: int) -> None:
    if depth > _MAX_DEPTH or len(found.columns) > _MAX_COLUMNS:
        return
    if _is_rows(value):
        found.rows[path] = list(value)
    elif isinstance(value, list):
        _take_list(value, path, path or title, found)
    elif isinstance(value, Mapping):
        indexed = _by_index(value)
        if indexed is not None:
            _walk(indexed, path, title, found, depth + 1)
            return
        for key, item in value.items():
            below = f"{path}/{key}" if path else str(key)
            if isinstance(item, Mapping | list):
                _walk(item, below, title, found, depth + 1)
            elif not str(key).startswith("_"):
                found.settings[below.replace("/", ".")] = item


def _take_list(value: Sequence[Any], path: str, name: str, found: Curves) -> None:
    """A list that is not one of rows: a column of numbers, or pairs of a step and a number."""
    column = _as_column(value)
    pairs = _as_pairs(value) if column is None else None
    if column is not None:
        found.columns[name] = column
    elif pairs is not None:
        found.rows[path] = [{"step": step, _leaf(name): number} for step, number in pairs]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _as_column(value: Sequence[Any]) -> Column | None:
    """A list of numbers; quoted ones, nulls and lists of one number are taken as well."""
    numbers: list[float | None] = []
    for item in value:
        inner = item[0] if isinstance(item, list) and len(item) == 1 else item
        if isinstance(inner, bool) or not isinstance(inner, int | float | str | None):
            return None
        number = number_of(inner) if isinstance(inner, str) else inner
        if isinstance(inner, str) and number is None:
            return None
        numbers.append(number)
    here = np.array([number is not None for number in numbers], dtype=np.bool_)
    if not here.any():
        return None
    try:
        return np.array(numbers, dtype=np.float64), None if here.all() else here
    except OverflowError:  # an integer beyond what a float holds
        return None


def _as_pairs(value: Sequence[Any]) -> list[tuple[float, float]] | None:
    """[[step, value], …], or TensorBoard's [[wall time, step, value], …]."""
    if not all(isinstance(item, list) and len(item) in (2, 3) for item in value):
        return None
    if not all(type(part) in (int, float) for item in value for part in item):
        return None
    return [(item[-2], item[-1]) for item in value]


def _by_index(value: Mapping[str, Any]) -> list[Any] | None:
    """{"0": …, "1": …} as the list it is; rows learn their number as epoch unless they count themselves."""
    if len(value) < 2 or not all(str(key).lstrip("-").isdigit() for key in value):
        return None
    ordered = sorted(value.items(), key=lambda item: int(item[0]))
    if not all(isinstance(item, Mapping) for _, item in ordered):
        return [item for _, item in ordered]
    counts = any(meaning_of(str(key)).kind in ("step", "epoch") for key in ordered[0][1])
    return [item if counts else {"epoch": int(key), **item} for key, item in ordered]


def _feed(found: Curves, sink: Sink, run: str) -> None:
    if not run:
        sink.main.config.update(flatten(found.settings))
    for path, rows in found.rows.items():
        split = meaning_of(path).split if path else ""
        for frame in frames_of(rows):
            if split:
                frame.labels["split"] = Labels(np.zeros(frame.length, dtype=np.intp), [split])
            if frame.length:
                sink.feed(run, frame)
    columns = _without_common_root(found.columns)
    counters = {name: column for name, column in columns.items() if meaning_of(_leaf(name)).kind in ("step", "epoch")}
    metrics = {name: column for name, column in columns.items() if name not in counters}
    lengths = {len(values) for values, _ in metrics.values()}
    for length in sorted(lengths, reverse=True):
        same = [name for name, (values, _) in metrics.items() if len(values) == length]
        for clock, names in _by_clock(same, length, counters).items():
            frame = Frame(length, {name: metrics[name] for name in names})
            if clock:
                frame.numbers[_leaf(clock)] = counters[clock]
            else:
                frame.numbers["epoch"] = (_epochs(length, lengths), None)
            sink.feed(run, frame)


def _by_clock(names: Sequence[str], length: int, counters: Mapping[str, Column]) -> dict[str, list[str]]:
    """Which counter each metric goes by: one of its length, nearest by split, then by path; '' where there is none."""
    groups: dict[str, list[str]] = {}
    fitting = [counter for counter, (values, _) in counters.items() if len(values) == length]
    for name in names:

        def nearness(counter: str, name: str = name) -> tuple[bool, bool, bool]:
            same_folder = counter.rsplit("/", 1)[:-1] == name.rsplit("/", 1)[:-1]
            same_split = meaning_of(counter).split == meaning_of(name).split
            return same_split, same_folder, meaning_of(_leaf(counter)).kind == "step"

        groups.setdefault(max(fitting, key=nearness, default=""), []).append(name)
    return groups


def _without_common_root(columns: Mapping[str, Column]) -> dict[str, Column]:
    """{"history": {"loss": …}}: what all names begin with says nothing, unless it is the split."""
    roots = {name.split("/", 1)[0] for name in columns}
    if len(roots) == 1 and all("/" in name for name in columns) and not meaning_of(next(iter(roots))).split:
        return _without_common_root({name.split("/", 1)[1]: column for name, column in columns.items()})
    return dict(columns)


def _epochs(length: int, lengths: set[int]) -> Floats:
    """Columns without a counter count epochs; one several times longer than the shortest has so many values an
    epoch."""
    shortest = min(lengths)
    if len(lengths) > 1 and shortest > 1 and length % shortest == 0:
        return np.arange(1.0, length + 1.0, dtype=np.float64) * (shortest / length)
    return np.arange(length, dtype=np.float64)


def _leaf(name: str) -> str:
    return name.rsplit("/", 1)[-1]
