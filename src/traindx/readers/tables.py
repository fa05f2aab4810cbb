"""The table engine: CSV, TSV and their kin as frames, in blocks, so that memory stays bounded.

A block whose cells are all plain numbers is one JSON array away from a numpy array, which is several times faster than
cell by cell. Whatever does not fit that (units, odd quoting, ragged rows, a header in the middle) goes row by row.
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import chain

import msgspec
import numpy as np

from traindx.meaning import meaning_of
from traindx.readers.blocks import line_blocks
from traindx.readers.cells import INF, NAN, is_blank, number_of
from traindx.readers.frames import Column, Frame, Labels, role_of
from traindx.readers.settings import settings_from
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.table_layout import SPACES, Layout, cells_of, layout_of
from traindx.run import Floats

Rename = Callable[[Sequence[str]], Sequence[str]]
_FLUSH_VALUES = 1 << 19  # numbers gathered before they go to the builder: 4 MB
_NUMERIC = b"0123456789.eE+- "
# numbers that no log holds stand in for what JSON cannot write; an exponent above 22 would make them slow to parse
_BLANK, _NAN, _INF, _MINUS_INF = -6e22, -7e22, -8e22, -9e22
_WORDS = {
    b"nan": b"-7e22", b"-nan": b"-7e22", b"+nan": b"-7e22", b"inf": b"-8e22", b"+inf": b"-8e22", b"infinity": b"-8e22",
    b"-inf": b"-9e22", b"-infinity": b"-9e22", b"null": b"-6e22", b"none": b"-6e22", b"na": b"-6e22", b"n/a": b"-6e22",
}  # fmt: skip
# three commas first: blanks come in rows, and each replacement costs
_BLANK_PASSES = ((b",,,", b",-6e22,-6e22,"), (b",,", b",-6e22,"), (b",,", b",-6e22,"))
_WORD_CELL = re.compile(rb"(?<![^,\n]) *([-+]?[A-Za-z/]+) *(?![^,\n])")
_decode = msgspec.json.Decoder(list[float]).decode
_pack = msgspec.msgpack.Encoder().encode
_PACKED = np.dtype([("mark", "u1"), ("value", ">f8")])


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


class _TableReader:
    def __init__(self, layout: Layout, sink: Sink, rename: Rename | None) -> None:
        self._layout = layout
        self._sink = sink
        self._rename = rename
        self._delimiter = b"," if layout.delimiter == SPACES else layout.delimiter.encode()
        self._pending: list[Floats] = []
        self._pending_values = 0
        self._passes = 0
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
        flat = None
        if not self._text_columns:
            flat = self._plain_numbers(data)
        if flat is not None:
            self._pending.append(flat)
            self._pending_values += len(flat)
            if self._pending_values >= _FLUSH_VALUES:
                self._flush()
            return
        self._flush()
        frame = self._columns(data)
        if frame is not None:
            self._sink.add(frame)
        else:
            self._row_by_row(block)

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
        self._pattern = b"," * (self._width - 1) + b"\n"
        self._numeric = [i for i in range(self._width) if i not in self._text_columns]
        self._text = [i for i, name in enumerate(self._names) if i in self._text_columns and role_of(name)]
        self._numeric_names = [self._names[i] for i in self._numeric]
        self._header = [name.lower() for name in names]

    def _plain_numbers(self, data: bytes) -> Floats | None:
        """All cells of a block that holds nothing but numbers and blanks, row after row."""
        if self._layout.delimiter == SPACES:
            rows = [line.split() for line in data.split(b"\n")]
            if any(len(row) != self._width for row in rows):
                return None
            data = b"\n".join([b",".join(row) for row in rows])
        elif self._delimiter != b",":
            data = data.replace(self._delimiter, b",")
        separators = data.translate(None, _NUMERIC) + b"\n"
        if separators != self._pattern * (len(separators) // self._width):
            spelled = _spell_out(data)
            if spelled is None:
                return None
            data = spelled
            separators = data.translate(None, _NUMERIC) + b"\n"
            if separators != self._pattern * (len(separators) // self._width):
                return None
        return self._parsed(data.replace(b"\n", b","))

    def _columns(self, data: bytes) -> Frame | None:
        """A block with text columns, cut into cells; None where its rows do not all have the header's cells."""
        if not self._numeric:
            return None
        width, merged = self._width, 0
        if self._layout.delimiter == SPACES:
            rows = [line.split() for line in data.split(b"\n")]
            if any(len(row) != width for row in rows):
                return None
            cells = list(chain.from_iterable(rows))
        elif not self._text_columns or self._text_columns & {0, width - 1}:
            cells = data.replace(b"\n", self._delimiter).split(self._delimiter)
        else:  # the last cell of a row and the first of the next can stay together: fewer pieces
            cells = data.split(self._delimiter)
            width, merged = width - 1, 1
        length, rest = divmod(len(cells) - merged, width)
        if rest:
            return None
        labels = {self._names[index]: Labels.of(cells[index::width]) for index in self._text}
        # rows out of step put a line's end into a text cell; where not all of those are looked at, the ends are counted
        seen = merged and len(self._text) == len(self._text_columns)
        if (
            any("\n" in word for label in labels.values() for word in label.words)
            if seen
            else data.count(b"\n") + 1 != length
        ):
            return None
        for place, index in enumerate(sorted(self._text_columns)):
            del cells[index - place :: width - place]
        joined = b",".join(cells).replace(b"\n", b",")
        flat = self._parsed(joined)
        if flat is None:
            spelled = _spell_out(joined)
            flat = self._parsed(spelled) if spelled is not None else None
        if flat is None or len(flat) != length * len(self._numeric):
            return None
        return self._frame(flat, labels)

    def _parsed(self, cells: bytes) -> Floats | None:
        flat, self._passes = _numbers(cells, self._passes)
        return flat

    def _flush(self) -> None:
        if self._pending:
            flat = self._pending[0] if len(self._pending) == 1 else np.concatenate(self._pending)
            self._pending, self._pending_values = [], 0
            self._sink.add(self._frame(flat, {}))

    def _frame(self, flat: Floats, labels: dict[str, Labels]) -> Frame:
        table = flat.reshape(-1, len(self._numeric))
        odd = table.min(initial=0.0) <= _BLANK
        columns: dict[str, Column] = {}
        for place, name in enumerate(self._numeric_names):
            if name:
                columns[name] = _restored(table[:, place]) if odd else (table[:, place], None)
        return Frame(len(table), columns, labels)

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


def _numbers(cells: bytes, passes: int = 0) -> tuple[Floats | None, int]:
    """Numbers between commas, blanks included, or None when something else stands there; and how many passes it took to
    fill the blanks, to begin with next time (looking for blanks costs more than finding that JSON does not read)."""
    for blank, spelled in _BLANK_PASSES[:passes]:
        cells = cells.replace(blank, spelled)
    while True:
        head, tail = b"[-6e22" if cells.startswith(b",") else b"[", b"-6e22]" if cells.endswith(b",") else b"]"
        try:
            values = _decode(b"".join((head, cells, tail)))
            break
        except (msgspec.DecodeError, UnicodeDecodeError):
            if passes == len(_BLANK_PASSES):
                return None, 0
            cells = cells.replace(*_BLANK_PASSES[passes])
            passes += 1
    # as MessagePack each float is one mark and eight bytes: several times faster than handing numpy the objects
    packed = _pack(values)
    numbers = np.frombuffer(packed, dtype=_PACKED, offset=len(packed) - _PACKED.itemsize * len(values))["value"]
    return numbers.astype(np.float64), passes


def _spell_out(cells: bytes) -> bytes | None:
    """Cells that say nan, inf or none as the numbers that stand for them; None when there are other words."""
    unknown = False

    def spelled(match: re.Match[bytes]) -> bytes:
        nonlocal unknown
        word = _WORDS.get(match.group(1).lower())
        unknown = unknown or word is None
        return word or b""

    result = _WORD_CELL.sub(spelled, cells)
    return None if unknown else result


def _restored(column: Floats) -> Column:
    """The column with its stand-ins taken back."""
    values = column.copy()
    odd = np.flatnonzero(values <= _BLANK)
    if not len(odd):
        return values, None
    found = values[odd]
    meant = np.full(len(odd), NAN)
    meant[found == _INF] = INF
    meant[found == _MINUS_INF] = -INF
    values[odd] = meant
    blank = odd[found == _BLANK]
    if not len(blank):
        return values, None
    here = np.ones(len(values), dtype=np.bool_)
    here[blank] = False
    return values, here
