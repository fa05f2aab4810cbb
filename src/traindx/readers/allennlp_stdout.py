"""AllenNLP's table of an epoch in its text log: 'tensorboard_writer - loss | 0.510 | 0.543', training and validation."""

from __future__ import annotations

import re
from functools import partial

from traindx.meaning import Split
from traindx.readers.base import LIKELY, Reader
from traindx.readers.cells import number_of
from traindx.readers.dialect import Dialect, Handler, Sink
from traindx.readers.source import Source
from traindx.readers.text import read_text

NAME = "allennlp-stdout"
_HEADER = re.compile(r"- +Training \| +Validation\s*$")
_ROW = re.compile(r" - (\w[\w.\-/]*)\s+\|\s+(\S+)\s+\|\s+(\S+)\s*$")
_COLUMNS: tuple[Split, ...] = ("train", "val")


class EpochTables(Dialect):
    def __init__(self) -> None:
        self.inside = False

    def take(self, line: str) -> Handler | None:
        if _HEADER.search(line):
            self.inside = True
            return lambda line, sink: None
        return self.row if self.inside and _ROW.search(line) else None

    def row(self, line: str, sink: Sink) -> None:
        match = _ROW.search(line)
        if match is None:
            return
        for split, cell in zip(_COLUMNS, match.groups()[1:], strict=True):
            value = number_of(cell)
            if value is not None:
                sink.emit({match.group(1): value}, split=split, dialect=NAME)


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and "- allennlp." in source.text_head else 0.0


DIALECT = EpochTables
READER = Reader(NAME, "AllenNLP log", sniff, partial(read_text, format=NAME))
