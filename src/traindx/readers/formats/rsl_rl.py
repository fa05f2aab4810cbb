"""RSL-rl, legged_gym and Isaac Lab: a block of right-aligned 'name: value' lines for every learning iteration."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import NUMBER, to_float

NAME = "rsl-rl"
_HEAD = re.compile(r"\s*(?:\x1b\[[\d;]*m)?\s*Learning iteration (\d+)\s*/\s*(\d+)")
_ROW = re.compile(r"\s*([A-Za-z][^:]{1,79}):\s+([-+]?[\d.][\w.+-]*|[-+]?(?:nan|inf))(?:\s*(s|steps/s\b.*))?\s*$")
_CLOCK = re.compile(r"\d+:\d\d:\d\d")
_LEFT_OUT = ("total timesteps", "total steps", "time elapsed", "eta")


class Blocks(Dialect):
    """The iteration stands above its block; the last line of a block is where the next begins."""

    def __init__(self) -> None:
        self.iteration: float | None = None
        self.values: dict[str, float] = {}

    def take(self, line: str) -> Handler | None:
        if _HEAD.match(line):
            return self.head
        return self.row if self.iteration is not None and _ROW.match(line) else None

    def head(self, line: str, sink: Sink) -> None:
        match = _HEAD.match(line)
        if match is not None:
            self.flush(sink)
            self.iteration = to_float(match.group(1))
            sink.plan("planned_steps", to_float(match.group(2)))

    def row(self, line: str, sink: Sink) -> None:
        match = _ROW.match(line)
        if match is None or self.iteration is None or _CLOCK.search(line):
            return
        name, value = match.group(1).strip(), match.group(2).rstrip("s")
        if name.lower() not in _LEFT_OUT and NUMBER.fullmatch(value):
            self.values[name] = to_float(value)

    def flush(self, sink: Sink) -> None:
        values, self.values = self.values, {}
        if values:
            sink.emit(values, step=self.iteration, dialect=NAME)

    def close(self, sink: Sink) -> None:
        self.flush(sink)


def sniff(source: Source) -> float:
    """Two heads with numbers below them."""
    if not source.is_text:
        return 0.0
    heads = len(re.findall(r"Learning iteration \d+/\d+", source.text_head))
    return LIKELY if heads >= 1 and re.search(r"Mean (?:total )?reward:|surrogate loss:", source.text_head) else 0.0


DIALECT = Blocks
READER = Reader(NAME, "RSL-rl output", sniff, partial(read_text, format=NAME))
