"""Runs that were saved by `Run.save`."""

from __future__ import annotations

from traindx.readers.base import CERTAIN, Reader
from traindx.readers.source import Source
from traindx.run import Run
from traindx.run_file import SCHEMA, run_of


def sniff(source: Source) -> float:
    return CERTAIN if f'"schema": "{SCHEMA}"'.encode() in source.head[:100] else 0.0


def read(source: Source) -> list[Run]:
    return [run_of(source.lines(), source.name)]


READER = Reader("saved-run", "run saved by traindx", sniff, read)
