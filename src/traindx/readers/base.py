"""What a reader is. One module a format; a module that defines READER is registered by being there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from traindx.readers.source import Source
from traindx.run import Run

CERTAIN = 1.0  # a magic number or a key that no other tool writes
LIKELY = 0.8  # the tool's usual columns or line shape
POSSIBLE = 0.5  # a general shape: a table, JSON lines
FALLBACK = 0.2  # any text with numbers in it


@dataclass(frozen=True)
class Bundle:
    """Files of one directory that make up one or more runs together, read through `main`."""

    main: Path
    files: frozenset[Path]


@dataclass(frozen=True)
class Reader:
    """A format: `sniff` says from the content how sure it is, `read` gives the runs, and `claim`, where a run is a
    directory rather than a file, picks what belongs together out of one directory's listing (all files below it)."""

    name: str
    title: str
    sniff: Callable[[Source], float]
    read: Callable[[Source], list[Run]]
    claim: Callable[[Path, Sequence[Path]], list[Bundle]] | None = None
