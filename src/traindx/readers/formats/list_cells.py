"""Tables whose cells hold whole curves: a row for each run, `"[0.9, 0.7, …]"` below `train_loss`.

Nothing is evaluated: a curve is what stands between the brackets of a cell, and every entry must read as a number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from traindx.errors import TraindxError
from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.python_lists import numbers_in
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.frames import NAN, Frame, is_counter
from traindx.run import Run

_CELL = re.compile(r'"((?:[^"]|"")*)"|(\[[^\[\]]*\])|([^,;\t\n]*)')
_CURVE = re.compile(r"\s*(?:[\w.]*\(\s*)?\[([^\[\]]*)\]\s*(?:,[^\[\]]*)?\)?\s*")


def sniff(source: Source) -> float:
    """A header that names an objective, and curves below exactly such a name."""
    text = source.text_head if source.is_text else ""
    names, rows = _table(text)
    if not names:
        return 0.0
    found = sum(name in row.curves for row in rows for name in names if meaning_of(name).kind in OBJECTIVES)
    return LIKELY if found else 0.0


def read(source: Source) -> list[Run]:
    text = b"".join(source.chunks()).decode(source.encoding, errors="replace")
    names, rows = _table(text)
    sink = Sink(source, READER.name)
    labels = [row.label or f"row {number}" for number, row in enumerate(rows, 1)]
    for number, (label, row) in enumerate(zip(labels, rows, strict=True), 1):
        # one run needs no name, and two of one name are two
        name = "" if len(rows) == 1 else label if labels.count(label) == 1 else f"{label} ({number})"
        sink.feed(name, _frame(row.curves))
    if not names or not rows:
        raise TraindxError(f"{source.name} holds no curves.", "Each cell needs a list of numbers, [0.9, 0.7].")
    return sink.finish()


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    curves: dict[str, list[float]]


def _frame(curves: dict[str, list[float]]) -> Frame:
    """The curves side by side; a shorter one ends early. Where none of them counts, values are those of epochs."""
    length = max(map(len, curves.values()))
    frame = Frame(length)
    if not any(is_counter(name) for name in curves):
        frame.numbers["epoch"] = (np.arange(1.0, length + 1), None)
    for name, values in curves.items():
        column = np.full(length, NAN)
        column[: len(values)] = values
        frame.numbers[name] = (column, None if len(values) == length else np.arange(length) < len(values))
    return frame


def _table(text: str) -> tuple[list[str], list[_Row]]:
    """The names of the header and the rows that hold curves."""
    head, _, body = text.partition("\n")
    names = [cell.strip() for cell in _cells(head)]
    if (
        len(names) < 2
        or "[" in head
        or '"[' not in body.replace(" ", "")
        or any(number_of(n) is not None for n in names)
    ):
        return [], []
    rows: list[_Row] = []
    for line in body.split("\n"):
        cells = list(_cells(line))
        curves: dict[str, list[float]] = {}
        for name, cell in zip(names, cells, strict=False):
            curve = _CURVE.fullmatch(cell)
            values = numbers_in(curve[1]) if curve else None
            if values:
                curves[name] = values
        if curves:
            rows.append(_Row(cells[0].strip() if "[" not in cells[0] else "", curves))
    return names, rows


def _cells(line: str) -> Iterator[str]:
    """The cells of a line, however long they are."""
    place = 0
    while place <= len(line):
        match = _CELL.match(line, place)
        assert match is not None  # the last way to read a cell takes anything, nothing included
        quoted, bare, plain = match.groups()
        yield quoted.replace('""', '"') if quoted is not None else bare if bare is not None else plain
        place = match.end() + 1


READER = Reader("list-cells", "tables whose cells hold whole curves", sniff, read)
