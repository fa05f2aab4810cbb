"""Any log of JSON lines: one object a row, keys free, rows of different kinds mixed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from traindx.errors import TraindxError
from traindx.meaning import meaning_of
from traindx.readers.base import FALLBACK, POSSIBLE, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.frames import TAG_NAMES, is_counter, role_of
from traindx.readers.tables.jsonrows import head_rows, read_json_rows
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Run


def sniff(source: Source) -> float:
    rows = head_rows(source)
    if not rows:
        return 0.0
    names = {name for row in rows for name in flat_row(row)[0]}
    if _compares(rows, names):
        return 0.0
    known = any(meaning_of(name).kind not in ("other", "step", "epoch", "stamp") for name in names)
    is_long = any(key in TAG_NAMES for row in rows for key in row) and any("value" in name for name in names)
    # a single object may as well be a settings file or a JSON document
    return POSSIBLE if (known or is_long) and len(rows) > 1 else FALLBACK


def _compares(rows: Sequence[Mapping[str, Any]], names: Iterable[str]) -> bool:
    """Whether every row is another model or run, and none is counted: results, not the course of a training."""
    if len(rows) < 2 or any(is_counter(name) for name in names):
        return False
    named = {key for row in rows for key, value in row.items() if isinstance(value, str) and role_of(key) == "run"}
    return any(len({str(row.get(key)) for row in rows}) == len(rows) for key in named)


def read(source: Source) -> list[Run]:
    if not head_rows(source):
        raise TraindxError(f"{source.name} holds no JSON lines.", "Each line should be one object, {…}.")
    sink = Sink(source, READER.name)
    read_json_rows(source, sink)
    return sink.finish()


READER = Reader("jsonl", "JSON lines", sniff, read)
