"""DeepSpeed: log_dist lines; and the loss scale that every overflow brings down, as DeepSpeed, apex and fairseq say."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "deepspeed"
_OVERFLOW = re.compile(
    r"(?:(?:overflow|skipping step).*reducing (?:loss scale )?to|reducing dynamic loss scale from \S+ "
    r"to|overflow detected, setting loss scale to:)\s+([\d.eE+-]*\d)",
    re.IGNORECASE,
)
_LINE = re.compile(
    r"\[logging\.py:\d+:log_dist\]\s*\[Rank \d+\].{0,40}\bstep=\d+|^.{0,80}\bsteps: \d+ loss: \S+ iter time \(s\):",
    re.MULTILINE,
)


class Overflows(Dialect):
    name = NAME
    lines = _LINE

    def take(self, line: str) -> Handler | None:
        return self.overflow if _OVERFLOW.search(line) else None

    def overflow(self, line: str, sink: Sink) -> None:
        match = _OVERFLOW.search(line)
        if match:
            sink.emit({"loss scale": to_float(match.group(1))}, dialect=NAME)


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and _LINE.search(source.text_head) else 0.0


DIALECT = Overflows
READER = Reader(NAME, "DeepSpeed log", sniff, partial(read_text, format=NAME))
