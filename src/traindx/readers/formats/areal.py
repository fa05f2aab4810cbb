"""AReaL: 'Epoch 1/10 Step 3/29 Train step 3/290 done.' for every step, and a table of pairs below it."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import NUMBER, to_float

NAME = "areal"
_HEAD = re.compile(r"\bStep \d+/\d+ Train step (\d+)/(\d+) done")
_PAIR = re.compile(r"│\s*([A-Za-z][\w./@ -]{0,119}?)\s*│\s*([-+]?[\d.][\w.+-]*|[-+]?(?:nan|inf))\s*(?=│)")


class Tables(Dialect):
    """Several names, each with its value behind it, stand in one row of a table."""

    def __init__(self) -> None:
        self.step: float | None = None
        self.values: dict[str, float] = {}

    def take(self, line: str) -> Handler | None:
        if _HEAD.search(line):
            return self.head
        return self.row if self.step is not None and _PAIR.search(line) else None

    def head(self, line: str, sink: Sink) -> None:
        match = _HEAD.search(line)
        if match is not None:
            self.flush(sink)
            self.step = to_float(match.group(1))
            sink.plan("planned_steps", to_float(match.group(2)))

    def row(self, line: str, sink: Sink) -> None:
        if self.step is None:
            return
        for name, value in _PAIR.findall(line):
            if NUMBER.fullmatch(value):
                self.values.setdefault(name, to_float(value))

    def flush(self, sink: Sink) -> None:
        values, self.values = self.values, {}
        if values:
            sink.emit(values, step=self.step, dialect=NAME)

    def close(self, sink: Sink) -> None:
        self.flush(sink)


def sniff(source: Source) -> float:
    if not source.is_text:
        return 0.0
    return LIKELY if _HEAD.search(source.text_head) and "│" in source.text_head else 0.0


DIALECT = Tables
READER = Reader(NAME, "AReaL output", sniff, partial(read_text, format=NAME))
