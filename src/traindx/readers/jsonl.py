"""Any log of JSON lines: one object a row, keys free, rows of different kinds mixed."""

from __future__ import annotations

from traindx.errors import TraindxError
from traindx.meaning import meaning_of
from traindx.readers.base import FALLBACK, POSSIBLE, Reader
from traindx.readers.frames import TAG_NAMES
from traindx.readers.jsonrows import head_rows, read_json_rows
from traindx.readers.jsontext import flat_row
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.run import Run


def sniff(source: Source) -> float:
    rows = head_rows(source)
    if not rows:
        return 0.0
    names = {name for row in rows for name in flat_row(row)[0]}
    known = any(meaning_of(name).kind not in ("other", "step", "epoch", "stamp") for name in names)
    is_long = any(key in TAG_NAMES for row in rows for key in row) and any("value" in name for name in names)
    # a single object may as well be a settings file or a JSON document
    return POSSIBLE if (known or is_long) and len(rows) > 1 else FALLBACK


def read(source: Source) -> list[Run]:
    if not head_rows(source):
        raise TraindxError(f"{source.name} holds no JSON lines.", "Each line should be one object, {…}.")
    sink = Sink(source, READER.name)
    read_json_rows(source, sink)
    return sink.finish()


READER = Reader("jsonl", "JSON lines", sniff, read)
