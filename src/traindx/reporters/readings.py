"""What probes measured, as text: a sentence and a table each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.cells import cell_len

from traindx.reporters.layout import Ink, hanging, shorten, wrap
from traindx.reporters.wording import clean, number

if TYPE_CHECKING:  # `traindx --help` lists the report formats and must not load numpy for it
    from traindx.reading import Cell, Reading, Table

ROWS = 24  # of a long table the beginning and the end are shown
BAD = "problem"  # in a cell: its row is marked
NAME = 34  # cells for the first column at most


def render(readings: Sequence[Reading], *, color: bool, width: int) -> str:
    """Every table of every reading."""
    ink = Ink(color)
    lines: list[str] = []
    for reading in readings:
        took = f" ({reading.seconds:.1f} s)" if reading.seconds >= 0.1 else ""
        lines += [ink(clean(reading.probe), "heading") + ink(took, "dim")]
        lines += [f"  {line}" for line in wrap(clean(reading.summary), width - 2)]
        for table in reading.tables:
            lines += ["", *_table(table, width, ink)]
        for reason in _not_in_a_table(reading):
            lines += [f"  {line}" for line in wrap(f"Not measured: {clean(reason)}", width - 2)]
        lines.append("")
    return "\n".join(lines) + ("\n" if lines else "")


def brief(readings: Sequence[Reading], *, color: bool, width: int) -> str:
    """One sentence a reading."""
    column = max((cell_len(clean(reading.probe)) for reading in readings), default=0) + 6
    lines = [f"  {Ink(color)('Measured', 'heading')}"] if readings else []
    for reading in readings:
        lines += hanging(f"    {clean(reading.probe)}", [clean(reading.summary)], column, width)
    return "\n".join([*lines, "  Every table: -v"]) + "\n" if lines else ""


def _not_in_a_table(reading: Reading) -> list[str]:
    """What could not be measured and has no row that says so."""
    rows = {str(row[0]) for table in reading.tables for row in table.rows if row}
    return [reason for reason in reading.unknown if reading.tables and reason.partition(":")[0] not in rows]


def _table(table: Table, width: int, ink: Ink) -> list[str]:
    marked = any(BAD in row for row in table.rows)
    rows = [[_cell(cell) for cell in row] for row in table.rows]
    rows = [[f"{'!' if BAD in row else ' '} {row[0]}", *row[1:]] for row in rows] if marked else rows
    cut = len(rows) - ROWS
    if cut > 1:
        rows = [*rows[: ROWS // 2], [f"… {cut} more"] + [""] * (len(table.columns) - 1), *rows[-ROWS // 2 :]]
    heads = [clean(name) for name in table.columns]
    heads[0] = f"  {heads[0]}" if marked else heads[0]
    numeric = [all(isinstance(row[i], int | float | None) for row in table.rows) for i in range(len(heads))]
    sizes = [max([cell_len(heads[i]), *(cell_len(row[i]) for row in rows)]) for i in range(len(heads))]
    sizes[0] = min(sizes[0], NAME)
    spare = width - 2 - sum(sizes[:-1]) - 2 * (len(sizes) - 1)
    sizes[-1] = min(sizes[-1], max(spare, 10))
    title = [f"  {ink(clean(table.title), 'dim')}"] if table.title else []
    lines = [_row(heads, sizes, numeric)]
    for row in rows:
        *first, last = row
        sentence = [last] if numeric[-1] else wrap(last, sizes[-1])
        lines += [_row([*first, sentence[0]], sizes, numeric)]
        lines += [_row([*[""] * len(first), more], sizes, numeric) for more in sentence[1:]]
    return [*title, *lines]


def _row(cells: Sequence[str], sizes: Sequence[int], numeric: Sequence[bool]) -> str:
    shown = []
    for cell, size, right in zip(cells, sizes, numeric, strict=True):
        text = shorten(cell, size)
        gap = " " * (size - cell_len(text))
        shown.append(gap + text if right else text + gap)
    return f"  {'  '.join(shown)}".rstrip()


def _cell(cell: Cell) -> str:
    if cell is None:
        return "–"
    return clean(cell) if isinstance(cell, str) else number(float(cell))
