"""The case book on disk: one SQLite file that several processes may use at once."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from traindx.casebook.case import Case, Status, Trial, with_trial
from traindx.errors import TraindxError

VERSION = 1
BUSY_SECONDS = 0.5  # how long a write waits for another process; a diagnosis must not wait longer
MOST_CASES = 5000  # beyond, the oldest that nobody said anything about are dropped
_SCHEMA = """
CREATE TABLE IF NOT EXISTS cases (
    id INTEGER PRIMARY KEY AUTOINCREMENT, uid TEXT NOT NULL UNIQUE, created TEXT NOT NULL, source TEXT NOT NULL, name TEXT NOT NULL,
    made_by TEXT NOT NULL, verdict TEXT NOT NULL, headline TEXT NOT NULL, steps INTEGER NOT NULL, present TEXT NOT NULL,
    absent TEXT NOT NULL, hypotheses TEXT NOT NULL, settings TEXT NOT NULL, status TEXT NOT NULL, cause TEXT NOT NULL,
    fix TEXT NOT NULL, note TEXT NOT NULL, trials TEXT NOT NULL, origin TEXT NOT NULL, key TEXT NOT NULL, seen INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS by_source ON cases (source, name);
CREATE INDEX IF NOT EXISTS by_status ON cases (status);
CREATE TABLE IF NOT EXISTS settings (name TEXT PRIMARY KEY, value TEXT NOT NULL);
"""  # noqa: E501
_COLUMNS = (
    "uid", "created", "source", "name", "made_by", "verdict", "headline", "steps", "present", "absent", "hypotheses",
    "settings",
    "status", "cause", "fix", "note", "trials", "origin", "key", "seen",
)  # fmt: skip


class CaseBook:
    """Opens the file for each operation and closes it again, so that no lock outlives what it is for."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def exists(self) -> bool:
        """An empty file is no book yet: a full disk leaves one behind."""
        return self.path.is_file() and self.path.stat().st_size > 0

    @contextmanager
    def _open(self, *, write: bool) -> Iterator[sqlite3.Connection]:
        if write:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        elif not self.exists():
            raise FileNotFoundError(str(self.path))
        if write and not self.exists():  # what was diagnosed is its owner's business
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        connection = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
        try:
            connection.row_factory = sqlite3.Row
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise sqlite3.DatabaseError(f"it was written by a newer traindx (version {version})")
            if write:
                if version < VERSION:
                    _prepare(connection)
                connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute("BEGIN IMMEDIATE")
            yield connection
            if write:
                connection.execute("COMMIT")
        finally:
            connection.close()  # an open transaction is rolled back by it

    def create(self) -> None:
        """Make the file, empty, where there is none."""
        with self._open(write=True):
            pass

    def remember(self, case: Case) -> Case:
        """Write a case down. The same run diagnosed again replaces what was said before, unless somebody judged
        that."""
        with self._open(write=True) as connection:
            row = connection.execute(
                "SELECT * FROM cases WHERE source = ? AND name = ? AND origin = '' ORDER BY id DESC LIMIT 1",
                (case.source, case.name),
            ).fetchone()
            old = None if row is None else _case(row)
            if old is not None and (_same(old, case) or (old.status == "open" and not old.note and not old.trials)):
                case = (
                    replace(old, seen=old.seen + 1) if _same(old, case) else replace(case, id=old.id, seen=old.seen + 1)
                )
                _update(connection, case)
                return case
            return _insert(connection, case)

    def change(self, number: int, **changes: object) -> Case:
        """The case with these fields changed; raises TraindxError where there is none."""
        with self._open(write=True) as connection:
            case = replace(_found(connection, number), **changes)  # type: ignore[arg-type]
            _update(connection, case)
            return case

    def add_trial(self, number: int, trial: Trial) -> Case:
        with self._open(write=True) as connection:
            case = with_trial(_found(connection, number), trial)
            _update(connection, case)
            return case

    def forget(self, number: int) -> None:
        with self._open(write=True) as connection:
            _found(connection, number)
            connection.execute("DELETE FROM cases WHERE id = ?", (number,))

    def get(self, number: int) -> Case:
        with self._open(write=False) as connection:
            return _found(connection, number)

    def cases(
        self, *, status: Status | None = None, judged: bool = False, words: Sequence[str] = (), most: int = 200
    ) -> list[Case]:
        """Newest first. `judged`: only those that somebody confirmed or a trial spoke on; `words` must all occur
        somewhere."""
        asked: list[str] = ["1"]
        values: list[str] = []
        if status is not None:
            asked.append("status = ?")
            values.append(status)
        if judged:
            asked.append("(status = 'confirmed' OR trials != '[]')")
        for word in words:
            text = (
                "source || ' ' || name || ' ' || headline || ' ' || present || ' ' || hypotheses || ' ' || cause "
                "|| ' ' || note || ' ' || fix"
            )
            asked.append(f"instr(lower({text}), ?) > 0")
            values.append(word.lower())
        query = f"SELECT * FROM cases WHERE {' AND '.join(asked)} ORDER BY id DESC LIMIT ?"
        with self._open(write=False) as connection:
            return [_case(row) for row in connection.execute(query, (*values, most))]

    def take_in(self, cases: Sequence[Case]) -> tuple[int, int]:
        """Add cases of another book; how many were new, and how many were known. What was said of a known one is kept,
        unless nothing was."""
        new = 0
        with self._open(write=True) as connection:
            for case in cases:
                row = connection.execute("SELECT * FROM cases WHERE uid = ?", (case.uid,)).fetchone()
                if row is None:
                    _insert(connection, case)
                    new += 1
                elif (old := _case(row)).status == "open" and not old.note and not old.trials:
                    reported = replace(old, status=case.status, cause=case.cause, note=case.note, trials=case.trials)
                    _update(connection, reported)
        return new, len(cases) - new

    def setting(self, name: str, default: str) -> str:
        with self._open(write=False) as connection:
            row = connection.execute("SELECT value FROM settings WHERE name = ?", (name,)).fetchone()
            return default if row is None else str(row["value"])

    def set(self, name: str, value: str) -> None:
        with self._open(write=True) as connection:
            connection.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (name, value))


def _prepare(connection: sqlite3.Connection) -> None:
    """Make the tables of a new book. SQLite does not wait for others when it changes the journal, so we do."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.executescript(f"BEGIN IMMEDIATE;{_SCHEMA}PRAGMA user_version={VERSION};COMMIT;")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            time.sleep(0.02)


def _same(old: Case, new: Case) -> bool:
    """The same findings on the same run: nothing new to write down."""
    return (old.verdict, old.headline, old.steps, old.present, old.hypotheses) == (
        new.verdict, new.headline, new.steps, new.present, new.hypotheses,
    )  # fmt: skip


def _found(connection: sqlite3.Connection, number: int) -> Case:
    row = connection.execute("SELECT * FROM cases WHERE id = ?", (number,)).fetchone()
    if row is None:
        raise TraindxError(f"There is no case {number}.", "See: traindx cases")
    return _case(row)


def _insert(connection: sqlite3.Connection, case: Case) -> Case:
    marks = ", ".join("?" for _ in _COLUMNS)
    cursor = connection.execute(f"INSERT OR IGNORE INTO cases ({', '.join(_COLUMNS)}) VALUES ({marks})", _row(case))
    if cursor.rowcount == 0:  # the very same case, written by another process a moment ago
        return _case(connection.execute("SELECT * FROM cases WHERE uid = ?", (case.uid,)).fetchone())
    number = int(cursor.lastrowid or 0)
    if number % 100 == 0:
        _prune(connection)
    return replace(case, id=number)


def _prune(connection: sqlite3.Connection) -> None:
    connection.execute(
        "DELETE FROM cases WHERE status = 'open' AND note = '' AND trials = '[]' AND id NOT IN (SELECT id FROM cases "
        "ORDER BY id DESC LIMIT ?)",
        (MOST_CASES,),
    )


def _update(connection: sqlite3.Connection, case: Case) -> None:
    fields = ", ".join(f"{column} = ?" for column in _COLUMNS)
    connection.execute(f"UPDATE OR IGNORE cases SET {fields} WHERE id = ?", (*_row(case), case.id))


def _row(case: Case) -> tuple[object, ...]:
    trials = [[trial.fix, trial.cause, trial.verdict, trial.effect] for trial in case.trials]
    return (
        case.uid, case.created, case.source, case.name, case.made_by, case.verdict, case.headline, case.steps,
        " ".join(case.present),
        " ".join(case.absent), json.dumps(case.hypotheses), json.dumps(dict(case.settings)), case.status, case.cause,
        case.fix, case.note,
        json.dumps(trials), case.origin, case.key, case.seen,
    )  # fmt: skip


def _case(row: sqlite3.Row) -> Case:
    return Case(
        id=row["id"], created=row["created"], source=row["source"], name=row["name"], made_by=row["made_by"],
        verdict=row["verdict"],
        headline=row["headline"], steps=row["steps"], present=tuple(row["present"].split()),
        absent=tuple(row["absent"].split()),
        hypotheses=tuple((cause, p) for cause, p in json.loads(row["hypotheses"])),
        settings=json.loads(row["settings"]),
        status=row["status"], cause=row["cause"], fix=row["fix"], note=row["note"], origin=row["origin"],
        key=row["key"], seen=row["seen"],
        trials=tuple(Trial(*entry) for entry in json.loads(row["trials"])),
    )  # fmt: skip
