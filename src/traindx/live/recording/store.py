"""The recording on disk: a directory `NAME.traindx` with one append-only file of JSON lines for each rank.

Every line stands for itself, so a recording that is cut off by kill -9 loses its last line at most.
Lines are written about once a second. Kinds of lines ('k'): 'meta' what was run; 'rows' columns of values by step,
under 'names' of their own or those of an earlier line; 'measured' what an instrument measured (`traindx.measurements`
has the kinds); 'fact' something seen directly; 'event' a traceback, a kill; 'printed' a line that
the training printed; 'config' settings seen; 'dropped' how many lines a full disk has cost; 'end' that the process came
to its end, which the last line of a process that was killed is not."""

from __future__ import annotations

import errno
import json
import os
import signal
import time
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from traindx.secrets import hidden_value

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

STATE = "state.pt"  # a kept state of the training, beside the lines
FLUSH_SECONDS = 0.7
NAMED = 16  # names from which a list of them is written once and referred to afterwards
MOST_LISTS = 4096
END = b'{"k": "end"}'
END_WITHIN = 1 << 16  # bytes from the end of a file: findings of probes may follow its end
LINE_ROWS = 500  # in one line at most: readers skip lines that are too long to be one
SCRUBBED = frozenset({"meta", "config", "event", "fact", "printed"})  # kinds of lines that hold words of the user's
MOST_TOGETHER = 64  # trainings of one command that are kept apart
APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0)
NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT})
MOST_WAITING = 4 << 20  # bytes that are kept until a full disk has room again


class Store:
    """Writes one rank's file. Where the disk is `full`, lines wait for room, up to a bound; what comes after them is
    dropped and counted. Any other error of the disk closes it for good: `broken` then holds the reason."""

    def __init__(self, folder: Path, rank: int = 0) -> None:
        self.broken: str | None = None
        self.full = False
        self._rows: list[tuple[tuple[str, ...], list[float]]] = []
        self._lines: list[str] = []
        self._lists: dict[tuple[str, ...], int] = {}
        self._lists_made = 0
        self._waiting = bytearray()
        self._dropped = 0
        self._last = time.monotonic()
        self._file: int | None = None
        self._identity: tuple[int, int] | None = None
        self.folder, self.path = folder, folder / f"rank-{rank}.jsonl"
        try:
            self._open()
        except OSError as error:
            self.broken = f"cannot write {self.path}: {error.strerror or error}"

    def _open(self) -> None:
        """The file stays open as long as the training runs. Trainings that run side by side are recorded apart."""
        number, folder = 1, self.folder
        while self._file is None:
            self.folder.mkdir(parents=True, exist_ok=True)
            file = for_owner(self.path, APPEND)
            if number >= MOST_TOGETHER or _is_free(file):
                self._file, self._identity = file, _identity(file)
            else:
                os.close(file)
                number += 1
                self.folder = folder / f"training-{number}"
                self.path = self.folder / self.path.name

    def line(self, kind: str, **values: Any) -> None:
        """Something that is written once: a fact, an event, the settings."""
        if self.broken is None:
            kept = hidden_value("", values) if kind in SCRUBBED else values
            self._lines.append(json.dumps({"k": kind, **kept}, default=str))

    def row(self, step: float, values: Mapping[str, float]) -> None:
        """The values of one step; neighbouring rows with the same names are written together."""
        if self.broken is None:
            self._rows.append((tuple(values), [step, *values.values()]))

    def due(self) -> bool:
        return time.monotonic() - self._last >= FLUSH_SECONDS

    def flush(self) -> None:
        """Hand everything to the operating system, which keeps it even if the process is killed."""
        self._last = time.monotonic()
        if self.broken is not None or self._file is None:
            return
        for names, group in groupby(self._rows, key=itemgetter(0)):
            form = f"[{', '.join(['%.9g'] * (len(names) + 1))}]"
            rows = [_row(form, row) for _, row in group]
            for start in range(0, len(rows), LINE_ROWS):
                block = ", ".join(rows[start : start + LINE_ROWS])
                self._lines.append(f'{{"k": "rows", "names": {self._names(names)}, "rows": [{block}]}}')
        self._rows.clear()
        self._drain()
        self._queue()
        self._drain()

    def _drain(self) -> None:
        """Write what waits. The system may take a part: the rest of the line comes first next time."""
        if self._file is None or self.broken is not None:
            return
        try:
            self._hold()
            while self._waiting:
                del self._waiting[: os.write(self._file, self._waiting)]
            self.full = False
        except OSError as error:
            self.full = error.errno in NO_ROOM
            self.broken = None if self.full else f"cannot write {self.path}: {error.strerror or error}"

    def _hold(self) -> None:
        """A script may close every file there is, and its next one gets our number: the file is opened again."""
        try:
            held = self._identity == _identity(self._file)
        except OSError:
            held = False
        if not held:
            self._file = for_owner(self.path, APPEND)
            self._identity = _identity(self._file)

    def _queue(self) -> None:
        """Put the lines behind those that the disk had no room for. Where those are too many already, these are
        dropped, and with them the lists of names that later rows would refer to."""
        if len(self._waiting) > MOST_WAITING:
            self._dropped += len(self._lines)
            self._lists.clear()
        elif self._lines:
            if self._dropped:
                self._lines.insert(0, json.dumps({"k": "dropped", "lines": self._dropped}))
                self._dropped = 0
            self._waiting += ("\n".join(self._lines) + "\n").encode("utf-8", "replace")
        self._lines.clear()

    def _names(self, names: tuple[str, ...]) -> str:
        """The names as they stand in a line of rows: a long list is written the first time only, in a line before."""
        number = self._lists.get(names)
        if number is None:
            if len(names) < NAMED or len(self._lists) >= MOST_LISTS:
                return json.dumps(names)
            number = self._lists[names] = self._lists_made
            self._lists_made += 1
            self.line("names", of=number, names=names)
        return str(number)

    def end(self) -> None:
        """The process came to its end, whether by itself or by an exception: nothing is missing."""
        self.line("end")
        self.close()

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            try:
                self._hold()
                os.close(self._file)
            except OSError as error:
                self.broken = self.broken or f"cannot write {self.path}: {error}"
            self._file = None


def for_owner(path: str | Path, flags: int) -> int:
    """Open a file that only its owner may read: settings and messages are nobody else's business."""
    return os.open(path, flags, 0o600)


def _identity(file: int | None) -> tuple[int, int] | None:
    state = os.fstat(file) if file is not None else None
    return (state.st_dev, state.st_ino) if state is not None else None


def _is_free(file: int) -> bool:
    """Lock a file; False where another process has done so. The lock goes with the process, however that ends. Where
    the system knows no locks, nobody else is assumed."""
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _row(form: str, row: list[float]) -> str:
    """Nine digits tell any two numbers of single precision apart and take half the room of all seventeen."""
    text = form % tuple(row)
    return json.dumps(row) if "n" in text else text  # NaN and Inf are spelled otherwise in JSON


def note_end(folder: Path, code: int) -> None:
    """How a process ended that did not write its end itself, as its parent saw it: killed by a signal, or gone without
    its exit handlers."""
    for path in folder.rglob("rank-*.jsonl"):
        try:
            with path.open("rb+") as file:
                file.seek(max(0, path.stat().st_size - END_WITHIN))
                last = file.read()
                if END in last:
                    continue
                lines = [json.dumps({"k": "event", **_ended(code)})] if code else []
                file.write(("\n".join(["", *lines, END.decode()]) + "\n").encode())
        except OSError:
            continue


def _ended(code: int) -> dict[str, str]:
    if code > 128:
        try:
            name = signal.Signals(code - 128).name
        except ValueError:
            name = f"signal {code - 128}"
        return {"event": "killed", "text": f"ended by {name}"}
    return {"event": "traceback", "text": f"left with exit code {code}"}


def fresh_folder(name: str, parent: Path) -> Path:
    """A directory of this name that does not exist yet: NAME.traindx, NAME-2.traindx, …"""
    for number in range(1, 10_000):
        folder = parent / (f"{name}.traindx" if number == 1 else f"{name}-{number}.traindx")
        if not folder.exists():
            return folder
    return parent / f"{name}-{os.getpid()}.traindx"


def unused_folder(folder: Path) -> Path:
    """The directory that was asked for, or one numbered like it where that holds another recording already."""
    if not any(folder.glob("rank-*.jsonl")):
        return folder
    return fresh_folder(folder.name.removesuffix(".traindx"), folder.parent)


def shared_folder(folder: Path, rank: int, world: int) -> Path:
    """The same for all ranks of a training, which come here one by one and do not talk to each other: a directory
    without this rank's file in which nobody but ranks of so many has written."""
    name = folder.name.removesuffix(".traindx")
    for number in range(1, 10_000):
        place = folder if number == 1 else folder.parent / f"{name}-{number}.traindx"
        if not (place / f"rank-{rank}.jsonl").exists() and all(
            _world(path) in (None, world) for path in place.glob("rank-*.jsonl")
        ):
            return place
    return folder.parent / f"{name}-{os.getpid()}.traindx"


def _world(path: Path) -> int | None:
    """Of how many ranks this file's is one; a file that was only just begun is a contemporary's."""
    try:
        with path.open(encoding="utf-8") as file:
            return int(json.loads(file.readline())["world"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
