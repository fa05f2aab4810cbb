"""How a table is laid out: its delimiter, its header, which columns hold text."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.source import HEAD_BYTES, Source, read_up_to
from traindx.readers.tables.cells import is_blank, number_of

SPACES = " "  # runs of white space
_DELIMITERS = (",", ";", "\t", "|")
_ENOUGH_LINES = 4
_WIDE_HEAD_BYTES = 1 << 21  # tables with thousands of columns
_MAX_COLUMNS = 20_000  # more names than this do not name metrics
_SAMPLE_LINES = 120
_MAX_PREAMBLE = 30  # lines of talk before a table begins
_MAX_NAME = 120  # a longer 'name' is a sentence
_COMMENT = ("#", "%", "//")
_COMMA_DECIMAL = re.compile(r"^\s*[-+]?\d+,\d+(?:[eE][-+]?\d+)?\s*$")
_PANDAS_INDEX = re.compile(r"^Unnamed: \d+$")


@dataclass(frozen=True, slots=True)
class Layout:
    """`names` has one entry a column, '' for one that is not read; `skip` lines precede the first row of numbers."""

    delimiter: str
    names: tuple[str, ...]
    text_columns: frozenset[int]
    skip: int
    decimal_comma: bool = False
    header: tuple[str, ...] = ()  # the header as it stands in the file; empty: there is none
    comments: tuple[str, ...] = ()  # comment lines above the header, without their mark
    rows: int = 0  # rows seen in the head
    labelled: bool = False  # a text column has another word in every row

    @property
    def width(self) -> int:
        return len(self.names)

    @property
    def counts(self) -> bool:
        """Whether a column counts steps or epochs."""
        return any(meaning_of(name).kind in ("step", "epoch") for name in self.names if name)

    @property
    def tells_training(self) -> bool:
        """Whether the names are those of a training log: an objective over a counter, or one that says loss or train. A
        table of results has objectives as well, a row for each model or sample."""
        meanings = [meaning_of(name) for name in self.names if name]
        goals = [meaning for meaning in meanings if meaning.kind in OBJECTIVES]
        if self.counts:
            return bool(goals)
        plain = any(goal.split in ("train", "val") or goal.kind == "reward" for goal in goals)
        return (plain or any("loss" in name.lower() for name in self.names)) and not self.labelled


@lru_cache(maxsize=8)
def layout_of(source: Source) -> Layout | None:
    """The layout of the table this file holds, None when it holds none."""
    if not source.is_text:
        return None
    text = _long_head(source).replace("\ufeff", "")
    if text.lstrip()[:1] in ("{", "["):
        return None  # JSON has commas too
    ends = "\n" if "\n" in text else "\r"
    lines = text.split(ends)
    if len(source.head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]  # the head ends in the middle of it
    return find_layout([line.replace("\r", "") for line in lines[:_SAMPLE_LINES]])


def _long_head(source: Source) -> str:
    """The head of the file; of one with very long lines enough to see several."""
    head = source.head
    if len(head) < HEAD_BYTES or head.count(b"\n") + head.count(b"\r") >= _ENOUGH_LINES:
        return source.text_head
    with source.open() as file:
        return read_up_to(file, _WIDE_HEAD_BYTES)[0].decode(source.encoding, errors="replace")


def find_layout(lines: Sequence[str]) -> Layout | None:
    """The layout that explains these first lines of a file best."""
    comments = [line.lstrip("#%/ ").strip() for line in lines[:_MAX_PREAMBLE] if line.startswith(_COMMENT)]
    kept = [(number, line) for number, line in enumerate(lines) if line.strip() and not line.startswith(_COMMENT)]
    if not kept:
        return None
    best: Layout | None = None
    best_score = 0.0
    for delimiter in (*_DELIMITERS, SPACES):
        found = _with_delimiter(delimiter, kept, comments)
        if found is not None and found[1] > best_score:
            best, best_score = found
    return replace(best, comments=tuple(comments)) if best else None


def cells_of(line: str, delimiter: str) -> list[str]:
    """The cells of one line."""
    if delimiter == SPACES:
        return line.split()
    if '"' in line:
        try:
            return [cell.strip() for cell in next(csv.reader([line], delimiter=delimiter, skipinitialspace=True), [])]
        except csv.Error:  # a stray quote or a cell beyond the module's limit
            return []
    return [cell.strip() for cell in line.split(delimiter)]


def _with_delimiter(
    delimiter: str, lines: Sequence[tuple[int, str]], comments: Sequence[str]
) -> tuple[Layout, float] | None:
    rows = [(number, cells_of(line, delimiter)) for number, line in lines]
    named = _opens_with_header(rows)
    width = len(rows[0][1]) if named else _body_width([len(cells) for _, cells in rows])
    if not 1 <= width <= _MAX_COLUMNS or (width == 1 and delimiter != ","):
        return None
    start = next((place for place, (_, cells) in enumerate(rows) if _fits(cells, width)), None)
    if start is None or rows[start][0] > _MAX_PREAMBLE:
        return None
    header: list[str] = []
    first = rows[start][1]
    decimal_comma = delimiter != "," and _decimal_commas(cells for _, cells in rows)
    if not any(number_of(cell, decimal_comma=decimal_comma) is not None for cell in first) and any(first):
        header = first
        start += 1
    body = [cells for _, cells in rows[start:]]
    same = [cells for cells in body if len(cells) == width]
    if body and len(same) < (0.3 if named else 0.6) * len(body):
        return None
    text = frozenset(index for index in range(width) if not _numeric(same, index, decimal_comma))
    if body and len(text) == width:
        return None
    names = _names(header, width, same) if header else _commented(comments, width)
    if not _plausible(header, names, delimiter, body, width, text):
        return None
    skip = rows[start][0] if start < len(rows) else rows[start - 1][0] + 1
    numeric_share = 1 - len(text) / width
    score = (
        (len(same) / len(body) if body else 0.5) * (0.5 + numeric_share) + 0.02 * min(width, 20) + 0.5 * bool(header)
    )
    if delimiter == SPACES:
        score -= 0.3  # a table with real delimiters often has spaces as well
    labelled = any(len({row[index] for row in same}) > 0.9 * len(same) > 2 for index in text)
    return Layout(delimiter, names, text, skip, decimal_comma, tuple(header), (), len(body), labelled), score


def _opens_with_header(rows: Sequence[tuple[int, Sequence[str]]]) -> bool:
    """Whether the first line names columns and the second has a number for most: further tables may follow below."""
    if len(rows) < 2 or not 1 < len(rows[0][1]) == len(rows[1][1]):
        return False
    first, second = rows[0][1], rows[1][1]
    known = any(meaning_of(cell).kind != "other" for cell in first) and not any(
        number_of(cell) is not None for cell in first
    )
    return known and sum(number_of(cell) is not None for cell in second) >= 0.5 * len(second)


def _body_width(widths: Sequence[int]) -> int:
    """The number of cells most rows have."""
    counts = Counter(widths)
    return max(counts.items(), key=lambda item: (item[1], item[0]))[0]


def _fits(cells: Sequence[str], width: int) -> bool:
    """A header may be one short of the rows: row names have no title, and some writers end each row in a delimiter."""
    return len(cells) in (width, width - 1) if width > 2 else len(cells) == width


def _decimal_commas(rows: Iterable[Sequence[str]]) -> bool:
    commas = points = 0
    for cells in rows:
        for cell in cells:
            if _COMMA_DECIMAL.match(cell):
                commas += 1
            elif "." in cell and number_of(cell) is not None:
                points += 1
    return commas > points


def _numeric(rows: Sequence[Sequence[str]], index: int, decimal_comma: bool) -> bool:
    """Whether the column holds numbers; one with nothing but blanks may yet."""
    filled = [row[index] for row in rows if not is_blank(row[index])]
    numbers = sum(number_of(cell, decimal_comma=decimal_comma) is not None for cell in filled)
    return not filled or numbers >= 0.5 * len(filled)


def _names(header: Sequence[str], width: int, rows: Sequence[Sequence[str]]) -> tuple[str, ...]:
    cells = [cell.strip("\"' ") for cell in header]
    if len(cells) == width - 1:
        ends_blank = all(not row[-1].strip() for row in rows)
        cells = [*cells, ""] if ends_blank else ["", *cells]
    names: list[str] = []
    seen: Counter[str] = Counter()
    for cell in cells[:width] + [""] * (width - len(cells)):
        name = "" if _PANDAS_INDEX.match(cell) else cell
        seen[name] += 1
        names.append(f"{name} ({seen[name]})" if name and seen[name] > 1 else name)
    return tuple(names)


def _commented(comments: Sequence[str], width: int) -> tuple[str, ...]:
    """Names from a comment line above a table without header, as numpy.savetxt writes them."""
    for comment in reversed(comments):
        for delimiter in (*_DELIMITERS, SPACES):
            cells = cells_of(comment, delimiter)
            if len(cells) == width and width > 1 and not any(number_of(cell) is not None for cell in cells):
                return tuple(cells)
    return ("",) * width


def _plausible(
    header: Sequence[str],
    names: Sequence[str],
    delimiter: str,
    body: Sequence[Sequence[str]],
    width: int,
    text: frozenset[int],
) -> bool:
    """Prose and source code fall into columns by accident; a table has short names or nothing but numbers."""
    if any(len(name) > _MAX_NAME for name in names):
        return False
    known = any(meaning_of(name).kind != "other" for name in names if name)
    if not header:
        # bare numbers: only where every row has them, or a comment names them
        return bool(not text and len(body) >= 2 and all(len(cells) == width for cells in body)) or (known and not text)
    if not body or width == 1:
        text_of_bars = any(name.count("[") != name.count("]") for name in names)
        return known and not text_of_bars and not any(character in "".join(names) for character in "{}=<>")
    if delimiter == SPACES:
        return all(len(cells) == width for cells in body[:-1]) and known  # the last row may be cut off
    return True
