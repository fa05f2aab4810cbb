"""The recording on disk: a directory `NAME.traindx` with one append-only file of JSON lines for each rank.

Every line stands for itself, so a recording that is cut off by kill -9 or a full disk loses its last line at most. Lines are
written about once a second. Kinds of lines ('k'): 'meta' what was run; 'rows' columns of values by step; 'fact' something
seen directly; 'event' a traceback, the end; 'config' settings seen.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Mapping
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

SCHEMA = "traindx.recording/1"
FLUSH_SECONDS = 0.7


class Store:
    """Writes one rank's file. Any error of the disk closes it for good: `broken` then holds the reason."""

    def __init__(self, folder: Path, rank: int = 0) -> None:
        self.folder = folder
        self.path = folder / f"rank-{rank}.jsonl"
        self.broken: str | None = None
        self._rows: list[tuple[tuple[str, ...], list[float]]] = []
        self._lines: list[str] = []
        self._last = time.monotonic()
        self._file: Any = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("a", encoding="utf-8", buffering=1 << 16)  # open as long as the training runs
        except OSError as error:
            self.broken = f"cannot write {self.path}: {error.strerror or error}"

    def line(self, kind: str, **values: Any) -> None:
        """Something that is written once: a fact, an event, the settings."""
        if self.broken is None:
            self._lines.append(json.dumps({"k": kind, **values}, default=str))

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
        for names, rows in groupby(self._rows, key=itemgetter(0)):
            self._lines.append(json.dumps({"k": "rows", "names": names, "rows": [row for _, row in rows]}))
        self._rows.clear()
        if not self._lines:
            return
        try:
            self._file.write("\n".join(self._lines) + "\n")
            self._file.flush()
        except (OSError, ValueError) as error:
            self.broken = f"cannot write {self.path}: {error}"
        self._lines.clear()

    def close(self) -> None:
        self.flush()
        if self._file is not None:
            try:
                self._file.close()
            except OSError as error:
                self.broken = self.broken or f"cannot write {self.path}: {error}"
            self._file = None


def fresh_folder(name: str, parent: Path) -> Path:
    """A directory of this name that does not exist yet: NAME.traindx, NAME-2.traindx, …"""
    for number in range(1, 10_000):
        folder = parent / (f"{name}.traindx" if number == 1 else f"{name}-{number}.traindx")
        if not folder.exists():
            return folder
    return parent / f"{name}-{os.getpid()}.traindx"
