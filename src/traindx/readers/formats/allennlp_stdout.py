"""AllenNLP's table of an epoch in its text log: 'tensorboard_writer - loss | 0.510 | 0.543', training and
validation."""

from __future__ import annotations

import re
from functools import partial

from traindx.meaning import Split
from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "allennlp-stdout"
_HEADER = re.compile(r"- +Training \| +Validation\s*$")
_ROW = re.compile(r" - (\w[\w.\-/]*)\s+\|\s+(\S+)\s+\|\s+(\S+)\s*$")
_COLUMNS: tuple[Split, ...] = ("train", "val")


_PHASE = re.compile(r"trainer - (Training|Validating)\s*$")
_BAR = re.compile(r"\bbatch_loss: (\S+),.* \|\|: +\d+%\|.*\| (\d+)/(\d+) \[")
_SUMMARY = re.compile(r'^\s+"(?:best|peak|training|validation)_\w+": ')


class EpochTables(Dialect):
    """The tables, and the loss of the batches beside the bars; the other numbers there are means that the tables
    repeat."""

    def __init__(self) -> None:
        self.inside = False
        self.training = True
        self.done = 0  # batches of the epochs before this one

    def take(self, line: str) -> Handler | None:
        if _PHASE.search(line):
            return self.phase
        if _BAR.search(line):
            return self.bar
        if self.inside and _SUMMARY.match(line):  # the last epoch once more, at the end
            return lambda line, sink: None
        if _HEADER.search(line):
            self.inside = True
            return lambda line, sink: None
        return self.row if self.inside and _ROW.search(line) else None

    def phase(self, line: str, sink: Sink) -> None:
        match = _PHASE.search(line)
        self.training = match is None or match.group(1) == "Training"

    def bar(self, line: str, sink: Sink) -> None:
        match = _BAR.search(line)
        if match is None or not self.training:
            return
        batch, total = int(match.group(2)), int(match.group(3))
        sink.emit({"batch_loss": to_float(match.group(1))}, step=self.done + batch, split="train", dialect=NAME)
        if batch == total:
            self.done += total

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
