"""trackio: one sqlite file a project, with the metrics of each log call as a JSON blob."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, Reader
from traindx.readers.binary.sqlite_store import UNREADABLE, number, opened, rows_of, tables_of
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.readers.tables.tracker_rows import Row, Sample, feed_rows, feed_samples, numbers_in
from traindx.run import Event, Run, flatten

_NAMED = ("run_id", "run_name")  # older releases knew runs by their name alone


def _sniff(source: Source) -> float:
    return CERTAIN if {"run_name", "step", "metrics"} <= tables_of(source).get("metrics", set()) else 0.0


class _Project:
    """All runs of a file while it is read; rows of several runs lie mixed in one table."""

    def __init__(self) -> None:
        self.names: dict[str, str] = {}
        self.rows: dict[str, list[Row]] = {}
        self.samples: dict[str, list[Sample]] = {}
        self.events: dict[str, list[Event]] = {}
        self.configs: dict[str, dict[str, Any]] = {}
        self.unreadable = 0

    def key(self, run_id: Any, run_name: Any) -> str:
        found = str(run_id if run_id is not None else run_name)
        self.names.setdefault(found, str(run_name))
        return found

    def mapping(self, blob: Any) -> Mapping[str, Any]:
        try:
            value = msgspec.json.decode(blob)
        except (msgspec.DecodeError, ValueError, TypeError, RecursionError):
            value = None
        if isinstance(value, Mapping):
            return value
        self.unreadable += 1
        return {}


def _read(source: Source) -> list[Run]:
    tables = tables_of(source)
    project = _Project()
    lost: list[str] = []
    try:
        with opened(source.path) as database:
            _take_all(database, tables, project, lost)
    except UNREADABLE as error:
        raise TraindxError(
            f"{source.name} is a damaged trackio database: {error}.", "Try `sqlite3 FILE .recover`."
        ) from error
    if project.unreadable:
        lost.append(f"{project.unreadable:,} rows of the database hold no readable JSON and were left out.")
    return [_run(source, key, project, lost) for key in project.names]


def _take_all(database: sqlite3.Connection, tables: Mapping[str, set[str]], project: _Project, lost: list[str]) -> None:
    def rows(table: str, *columns: str) -> Iterator[tuple[str, tuple[Any, ...]]]:
        present = tables.get(table, set())
        if "run_name" in present:
            for row in rows_of(database, table, (*_NAMED, *columns), present, lost):
                yield project.key(row[0], row[1]), row[2:]

    for key, (blob, step, stamp) in rows("metrics", "metrics", "step", "timestamp"):
        values = {
            name: found for label, item in project.mapping(blob).items() for name, found in numbers_in(label, item)
        }
        if values:
            project.rows.setdefault(key, []).append(Row(values, number(step), _seconds(stamp)))
    for key, (blob, stamp) in rows("system_metrics", "metrics", "timestamp"):
        values = {
            name: found for label, item in project.mapping(blob).items() for name, found in numbers_in(label, item)
        }
        time = _seconds(stamp)
        if time is not None:
            prefixed = {f"system/{name}": value for name, value in values.items()}
            project.samples.setdefault(key, []).append(Sample(time, prefixed))
    for key, (blob,) in rows("configs", "config"):
        project.configs[key] = flatten(project.mapping(blob))
    for key, (title, text, step) in rows("alerts", "title", "text", "step"):
        stated = ": ".join(str(part) for part in (title, text) if part)
        project.events.setdefault(key, []).append(Event("warning", stated, number(step)))


def _run(source: Source, key: str, project: _Project, lost: list[str]) -> Run:
    builder = RunBuilder(source.name, "trackio", one_run=True)
    builder.lost.extend(lost)
    builder.config.update(project.configs.get(key, {}))
    builder.events.extend(project.events.get(key, []))
    steps, times = feed_rows(iter(project.rows.get(key, [])), builder)
    feed_samples(project.samples.get(key, []), steps, times, builder)
    (run,) = builder.finish()
    run.name = project.names[key]
    return run


def _seconds(stamp: Any) -> float | None:
    """An ISO time (without a zone: UTC, as trackio writes it) as seconds since 1970."""
    try:
        moment = datetime.fromisoformat(stamp)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except (TypeError, ValueError, OverflowError):
        return number(stamp)


READER = Reader("trackio", "trackio project database", _sniff, _read)
