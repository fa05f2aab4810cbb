"""Any JSON document with curves in it: a list of epochs, lists by name, nested by split, several runs by name."""

from __future__ import annotations

from typing import Any

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.base import FALLBACK, POSSIBLE, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import curves_in, feed_document, load_document, peek, runs_in
from traindx.run import Run


def sniff(source: Source) -> float:
    value = peek(source)
    if value is None:
        return 0.0
    names = _names(value, source.path.stem)
    kinds = {meaning_of(name).kind for name in names}
    if "loss" in kinds or (kinds & set(OBJECTIVES) and kinds & {"step", "epoch"}):
        return POSSIBLE
    return FALLBACK / 2 if kinds & set(OBJECTIVES) else 0.0


def read(source: Source) -> list[Run]:
    value, lost = load_document(source)
    if value is None or not _names(value, source.path.stem):
        raise TraindxError(
            f"{source.name} is JSON without curves in it.", "Lists of numbers or of epochs were looked for."
        )
    sink = Sink(source, READER.name)
    if lost:
        sink.main.lost.append(lost)
    feed_document(value, sink, source.path.stem)
    return sink.finish()


def _names(value: Any, title: str) -> set[str]:
    return {name for part in runs_in(value).values() or [value] for name in curves_in(part, title).names()}


READER = Reader("json", "JSON documents", sniff, read)
