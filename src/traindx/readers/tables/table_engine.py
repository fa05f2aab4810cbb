"""The table engine: CSV, TSV and their kin as frames, in blocks, so that memory stays bounded.

A block whose rows all have the header's cells is read at once, as a grid, which is many times faster than cell by cell.
Whatever does not fit that (units, odd quoting, ragged rows, a header in the middle) goes row by row.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from traindx.meaning import meaning_of
from traindx.readers.settings import settings_from
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.cells import is_blank, number_of
from traindx.readers.tables.frames import Column, Frame, Labels, Mask, role_of
from traindx.readers.tables.grid import Cutter
from traindx.readers.tables.table_layout import SPACES, Layout, cells_of, layout_of
from traindx.readers.text.blocks import line_blocks
from traindx.run import Floats

Rename = Callable[[Sequence[str]], Sequence[str]]
_FLUSH_VALUES = 1 << 17  # numbers gathered before they go to the builder: 1 MB


def read_table(source: Source, sink: Sink, rename: Rename | None = None) -> bool:
    """Feed the table in this file to the sink; False when there is none. `rename` gives the series' names for the names
    of the header, '' for a column that is not wanted."""
    layout = layout_of(source)
    if layout is None:
        return False
    reader = _TableReader(layout, sink, rename)
    skip = layout.skip
    for block, whole in line_blocks(source):
        while skip and block:
            end = block.find(b"\n")
            block = block[end + 1 :] if end >= 0 else b""
            skip -= 1
        if block:
            reader.add(block if whole else reader.without_torn_cell(block))
    reader.finish()
    return True


@dataclass(frozen=True, slots=True)
class _Part:
    """A block's numbers, which of them are there (None: all), and its text columns that have a role."""

    table: Floats
    here: Mask | None
    labels: dict[str, Labels]

    @property
    def varied(self) -> bool:
        """Whether a text column has hardly a word twice (the time of day): bringing its words together would cost
        much."""
        return any(2 * len(label.words) > len(self.table) for label in self.labels.values())


class _TableReader:
    def __init__(self, layout: Layout, sink: Sink, rename: Rename | None) -> None:
        self._layout = layout
        self._sink = sink
        self._rename = rename
        self._delimiter = b"," if layout.delimiter == SPACES else layout.delimiter.encode()
        self._pending: list[_Part] = []
        self._pending_values = 0
        self._ragged = 0
        self._unreadable: Counter[str] = Counter()
        self._text_columns = layout.text_columns
        self._set_names(layout.names)
        for comment in layout.comments:
            if comment.startswith("{"):
                sink.main.config.update(settings_from(comment))

    def add(self, block: bytes) -> None:
        data = block.replace(b",", b".") if self._layout.decimal_comma else block
        if b'"' in data:
            data = data.replace(b'"', b"")  # a quoted delimiter changes the number of cells, which is checked
        if b"%" in data:
            data = data.replace(b"%", b"")
        part = self._grid(data)
        if part is None:
            self._flush()
            self._row_by_row(block)
            return
        self._pending.append(part)
        self._pending_values += part.table.size
        if self._pending_values >= _FLUSH_VALUES or part.varied:
            self._flush()

    def without_torn_cell(self, line: bytes) -> bytes:
        """The last line of a file that was cut off: the number at its end may lack digits."""
        cells = cells_of(line.decode("utf-8", errors="replace"), self._layout.delimiter)
        if 1 < len(cells) < self._width:
            self._sink.main.lost.append("the last row is cut off")
            return line[: line.rfind(b" " if self._layout.delimiter == SPACES else self._delimiter) + 1]
        return line

    def finish(self) -> None:
        self._flush()
        if self._sink.empty:
            self._sink.declare(self._numeric_names)
        lost = self._sink.main.lost
        if self._ragged:
            lost.append(f"rows with another number of cells than the header: {self._ragged}")
        for name, count in self._unreadable.most_common(3):
            lost.append(f"cells of column '{name}' that are no numbers: {count}")

    def _set_names(self, names: Sequence[str]) -> None:
        given = list(self._rename(names)) if self._rename else list(names)
        self._names = [name.strip() for name in given]
        self._width = len(self._names)
        self._cutter = Cutter(self._delimiter, self._width)
        self._numeric = [i for i in range(self._width) if i not in self._text_columns]
        self._text = [i for i, name in enumerate(self._names) if i in self._text_columns and role_of(name)]
        self._numeric_names = [self._names[i] for i in self._numeric]
        self._header = [name.lower() for name in names]

    def _grid(self, data: bytes) -> _Part | None:
        """All cells of a block at once; None where its rows do not all have the header's cells or one is no number."""
        if self._layout.delimiter == SPACES:
            data = b"\n".join([b",".join(line.split()) for line in data.split(b"\n")])
        if not self._numeric:
            return None
        grid = self._cutter.grid(data)
        if grid is None:
            return None
        labels = {self._names[index]: grid.labels(index) for index in self._text}
        numbers = grid.numbers(self._numeric)
        return None if numbers is None else _Part(*numbers, labels)

    def _flush(self) -> None:
        parts, self._pending, self._pending_values = self._pending, [], 0
        if not parts:
            return
        columns: dict[str, Column] = {}
        for place, name in enumerate(self._numeric_names):
            if name:
                values = np.concatenate([part.table[:, place] for part in parts])
                columns[name] = (values, _shown(parts, place))
        labels = {name: Labels.joined([part.labels[name] for part in parts]) for name in parts[0].labels}
        self._sink.add(Frame(sum(len(part.table) for part in parts), columns, labels))

    def _row_by_row(self, block: bytes) -> None:
        numbers: list[list[float | None]] = [[] for _ in self._numeric]
        texts: list[list[str]] = [[] for _ in self._text]
        for cells in self._rows(block):
            if self._is_header(cells):
                self._emit(numbers, texts)
                self._sink.new_run()
                self._set_header(cells)
                numbers = [[] for _ in self._numeric]
                texts = [[] for _ in self._text]
                continue
            if len(cells) != self._width:
                self._ragged += 1
                if len(cells) < 2 <= self._width:
                    continue
                cells = [*cells[: self._width], *[""] * (self._width - len(cells))]
            for column, index in zip(numbers, self._numeric, strict=True):
                cell = cells[index]
                value = number_of(cell, decimal_comma=self._layout.decimal_comma)
                if value is None and not is_blank(cell):
                    self._unreadable[self._names[index]] += 1
                column.append(value)
            for words, index in zip(texts, self._text, strict=True):
                words.append(cells[index].strip())
        self._emit(numbers, texts)

    def _rows(self, block: bytes) -> Iterator[list[str]]:
        text = block.decode("utf-8", errors="replace").replace("\ufeff", "")
        delimiter = self._layout.delimiter
        lines = text.split("\n")
        if delimiter == SPACES or '"' not in text:
            for line in lines:
                if line.strip() and not line.startswith("#"):
                    yield cells_of(line, delimiter)
            return
        if text.count('"') % 2:  # a quote that nothing closes would swallow the rows after it
            lines = [line.replace('"', "") for line in lines]
        rows = csv.reader(lines, delimiter=delimiter, skipinitialspace=True)
        while True:
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error:  # a cell beyond the module's limit
                self._ragged += 1
                continue
            if any(cells) and not cells[0].startswith("#"):
                yield cells

    def _is_header(self, cells: Sequence[str]) -> bool:
        if not self._layout.header or any(number_of(cell) is not None for cell in cells):
            return False
        words = [cell.strip().lower() for cell in cells]
        if words == self._header[: len(words)]:
            return True
        return len(words) > 1 and all(words) and sum(meaning_of(word).kind != "other" for word in words) >= 2

    def _set_header(self, cells: Sequence[str]) -> None:
        """Another table may follow under a header of its own; a column keeps holding text where its name stays."""
        words = [cell.strip().strip("\"'") for cell in cells]
        if [word.lower() for word in words] != self._header:
            text_names = {self._header[index] for index in self._text_columns}
            self._text_columns = frozenset(index for index, word in enumerate(words) if word.lower() in text_names)
            self._set_names(words)

    def _emit(self, numbers: Sequence[Sequence[float | None]], texts: Sequence[Sequence[str]]) -> None:
        if not numbers or not numbers[0]:
            return
        columns: dict[str, Column] = {}
        for name, values in zip(self._numeric_names, numbers, strict=True):
            if name:
                array = np.array(values, dtype=np.float64)  # None becomes NaN
                here = np.array([value is not None for value in values], dtype=np.bool_)
                columns[name] = (array, None if here.all() else here)
        labels = {self._names[index]: Labels.of(words) for index, words in zip(self._text, texts, strict=True)}
        self._sink.add(Frame(len(numbers[0]), columns, labels))


def _shown(parts: Sequence[_Part], place: int) -> Mask | None:
    """Where this column is not blank; None for everywhere."""
    if all(part.here is None for part in parts):
        return None
    shown = np.concatenate(
        [np.ones(len(part.table), dtype=np.bool_) if part.here is None else part.here[:, place] for part in parts]
    )
    return None if shown.all() else shown
