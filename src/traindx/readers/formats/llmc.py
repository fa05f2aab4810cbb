"""llm.c and the first modded-nanogpt: 's:0 trl:10.96 lr:0.0003 norm:1.2', 's:250 tel:4.1', 's:250 eval:0.29'."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import NUMBER, to_float

NAME = "llmc"
_LINE = re.compile(r"s:(\d+) ((?:trl|tel|eval):\S+\s*(?:\w+:\S+\s*)*)$")
_START = re.compile(r"^s:\d+ (?:trl|tel):\S+", re.MULTILINE)


class Lines(Dialect):
    """`trl` is the training loss, `tel` the evaluation loss, `eval` HellaSwag, `norm` the gradient norm."""

    def take(self, line: str) -> Handler | None:
        return self.row if _LINE.match(line) else None

    def row(self, line: str, sink: Sink) -> None:
        match = _LINE.match(line)
        if match is None:
            return
        pairs = [pair.split(":", 1) for pair in match.group(2).split()]
        values = {name: to_float(value) for name, value in pairs if NUMBER.fullmatch(value)}
        if values:
            sink.emit(values, step=to_float(match.group(1)), dialect=NAME)


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and len(_START.findall(source.text_head)) >= 2 else 0.0


DIALECT = Lines
READER = Reader(NAME, "llm.c log", sniff, partial(read_text, format=NAME))
