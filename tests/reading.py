"""Reading files and made-up text in tests, with the reader that knows the content best."""

from __future__ import annotations

from pathlib import Path

from traindx.errors import TraindxError
from traindx.readers.base import Reader
from traindx.readers.find import candidates
from traindx.readers.source import MemorySource, Source
from traindx.run import Run

GOLDEN = Path(__file__).parent / "golden"


def best_reader(path: Path) -> str:
    """The name of the reader that is surest of this file."""
    ranked = candidates(Source(path))
    return ranked[0][1].name if ranked else ""


def read_path(path: Path) -> list[Run]:
    """The runs the surest reader finds in this file."""
    source = Source(path)
    return candidates(source)[0][1].read(source)


def read_text(text: str | bytes, name: str = "log.csv", encoding: str = "utf-8") -> list[Run]:
    """The runs the surest reader finds in this text."""
    data = text.encode(encoding) if isinstance(text, str) else text
    source = MemorySource(data, Path("nowhere", name), name)
    return candidates(source)[0][1].read(source)


def one(runs: list[Run]) -> Run:
    assert len(runs) == 1, [run.name for run in runs]
    return runs[0]


def survives(reader: Reader, data: bytes, name: str = "log.csv") -> list[Run]:
    """Read whatever this is, sure or not: the only error a reader may raise is TraindxError."""
    source = MemorySource(data, Path("nowhere", name), name)
    assert 0.0 <= reader.sniff(source) <= 1.0
    try:
        return reader.read(source)
    except TraindxError:
        return []
