"""NeMo-RL: a block for every step, '===== Step 3/1000 =====' and bulleted 'name: value' lines below it."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import NUMBER, to_float

NAME = "nemo-rl"
_HEAD = re.compile(r"=+ Step (\d+)/(\d+) =+")
_ROW = re.compile(r"\s*[•*-]\s+([A-Za-z][^:]{1,79}):\s+([-+]?[\d.][\w.+-]*|nan|inf)(?:\s.*)?$")


class Blocks(Dialect):
    """Training results and times of a step; validation results have their own heading and are read by the general
    rules."""

    def __init__(self) -> None:
        self.step: float | None = None
        self.values: dict[str, float] = {}

    def take(self, line: str) -> Handler | None:
        if _HEAD.search(line):
            return self.head
        return self.row if self.step is not None and _ROW.match(line) else None

    def head(self, line: str, sink: Sink) -> None:
        match = _HEAD.search(line)
        if match is not None:
            self.flush(sink)
            self.step = to_float(match.group(1))
            sink.plan("planned_steps", to_float(match.group(2)))

    def row(self, line: str, sink: Sink) -> None:
        match = _ROW.match(line)
        if match is None or self.step is None:
            return
        name, value = match.group(1).strip(), match.group(2).rstrip("s")
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
    return LIKELY if _HEAD.search(source.text_head) and "Training Results" in source.text_head else 0.0


DIALECT = Blocks
READER = Reader(NAME, "NeMo-RL output", sniff, partial(read_text, format=NAME))
