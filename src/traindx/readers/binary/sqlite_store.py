"""Reading somebody else's sqlite file: never writing to it, by column name, and as far as damage allows."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from traindx.readers.reach import may_read
from traindx.readers.source import Source

_MAGIC = b"SQLite format 3\0"
# UnicodeDecodeError when sqlite's own message quotes damaged text, MemoryError when a damaged page gives a length
UNREADABLE = (sqlite3.Error, UnicodeDecodeError, MemoryError)
_SMALLEST_LIMIT = 1_000_000  # bytes of a cell or a query that sqlite always accepts
_MAX_FAILURES = 500  # damaged places in one table after which the rest of it is given up


def tables_of(source: Source) -> dict[str, set[str]]:
    """The columns of each table; empty when this is no readable sqlite file."""
    if not source.head.startswith(_MAGIC) or source.compressed:
        return {}
    try:
        with opened(source.path) as database:
            names = [str(name) for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
            return {
                name: {str(column[1]) for column in database.execute(f"PRAGMA table_info({_quoted(name)})")}
                for name in names
            }
    except UNREADABLE:
        return {}


def fault_of(source: Source) -> str | None:
    """Why this file, which begins as an sqlite database, cannot be opened; None where it can or is something else."""
    if not source.head.startswith(_MAGIC) or source.compressed:
        return None
    try:
        with opened(source.path) as database:
            database.execute("SELECT name FROM sqlite_master").fetchall()
    except UNREADABLE as error:
        return str(error)
    return None


@contextmanager
def opened(path: Path) -> Iterator[sqlite3.Connection]:
    """The file, opened so that nothing is written beside it. What a running program has not merged yet lies in a
    write-ahead log, which sqlite can only read by touching it: then a copy of both is opened."""
    log = path.with_name(path.name + "-wal")
    with tempfile.TemporaryDirectory(prefix="traindx-") as folder:
        if log.is_file() and may_read(log) and log.stat().st_size:
            copy = Path(folder) / "copy.db"
            shutil.copy(path, copy)
            shutil.copy(log, copy.with_name("copy.db-wal"))
            uri = copy.as_uri()
        else:
            uri = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
        with closing(sqlite3.connect(uri, uri=True)) as database:
            database.text_factory = lambda data: data.decode("utf-8", errors="replace")
            # no cell is larger than its file; a damaged length would ask for gigabytes
            database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max(_SMALLEST_LIMIT, Path(path).stat().st_size))
            yield database


def rows_of(
    database: sqlite3.Connection, table: str, columns: Sequence[str], present: set[str], lost: list[str]
) -> Iterator[tuple[Any, ...]]:
    """These columns of every row in the order they were written; a column the table does not have is None. Pages that
    cannot be read are stepped over, and `lost` says so."""
    chosen = ", ".join(_quoted(column) if column in present else "NULL" for column in columns)
    query = f"SELECT rowid, {chosen} FROM {_quoted(table)} WHERE rowid > ? ORDER BY rowid"
    last, step, failures = -1, 1, 0
    while True:
        try:
            for row in database.execute(query, (last,)):
                last, step = row[0], 1
                yield row[1:]
            break
        except UNREADABLE:
            failures += 1
            last += step
            step *= 2
            if failures >= _MAX_FAILURES or last >= 1 << 62:
                break
    if failures:
        lost.append(f"The table '{table}' of the database is damaged; the rows on its broken pages were left out.")


def number(value: Any) -> float | None:
    """A cell as a number; sqlite keeps whatever type was written, whatever the column says."""
    if isinstance(value, int | float):
        return float(value)
    try:
        return float(value) if isinstance(value, str | bytes) else None
    except ValueError:
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
