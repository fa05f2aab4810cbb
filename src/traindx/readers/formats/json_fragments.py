"""Rows of a JSON file that somebody pasted a part of: whole objects with numbers between words and open brackets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.base import FALLBACK, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import peek
from traindx.readers.tables.jsonrows import head_rows
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Run

MAX_CHARACTERS = 1 << 22  # characters: what people paste is far shorter
MIN_ROWS = 2  # rows
_OBJECT = re.compile(r"\{[^{}]*\}")  # innermost ones: a row of a log holds numbers
_ODD = re.compile(r"(?<=:\s)(-?)(?:NaN|Infinity|nan|inf)(?=\s*[,}\n])")
_COUNTED = ("step", "epoch", "global_step", "iteration", "iter")


def sniff(source: Source) -> float:
    if not source.is_text or '": ' not in source.text_head or head_rows(source) or peek(source) is not None:
        return 0.0
    rows = list(_rows(source.text_head))
    measured = [row for row in rows if any(meaning_of(name).kind in OBJECTIVES for name in row)]
    return (
        FALLBACK * 2 if len(measured) >= MIN_ROWS and all(any(c in row for c in _COUNTED) for row in measured) else 0.0
    )


def read(source: Source) -> list[Run]:
    with source.open() as file:
        text = file.read(MAX_CHARACTERS).decode(source.encoding, "replace")
    builder = RunBuilder(source.name, READER.name)
    for row in _rows(text):
        step = next((row[name] for name in _COUNTED if name != "epoch" and name in row), None)
        builder.row(row, step=step, epoch=row.get("epoch"))
    runs = builder.finish()
    if not runs:
        raise TraindxError(f"{source.name} holds no rows that can be read.", "Give the whole JSON file.")
    return runs


def _rows(text: str) -> Iterator[dict[str, float]]:
    for match in _OBJECT.finditer(text):
        row = _decoded(_ODD.sub("null", match.group()), match.group())
        numbers = flat_row(row)[0] if row else {}
        if len(numbers) > 1:
            yield numbers


def _decoded(text: str, original: str) -> dict[str, Any]:
    """An object as a row, with NaN where it wrote one."""
    try:
        row = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return {}
    if not isinstance(row, dict):
        return {}
    for name, value in row.items():
        if value is None and re.search(rf'"{re.escape(name)}":\s*-?(?:NaN|nan|Infinity|inf)', original):
            row[name] = float("nan")
    return row


READER = Reader("json-fragments", "parts of JSON files", sniff, read)
