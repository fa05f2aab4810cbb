"""nanoGPT and build-nanogpt: 'iter 10: loss 4.1, time 12ms, mfu 3%', 'step 250: train loss 2.1, val loss 2.2', '250
hella 0.3'."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "nanogpt"
_LINE = re.compile(
    r"^iter \d+: loss \S+, time \S+ms|^step \d+: train loss \S+, val loss \S+|^\d+ (?:train|val|hella) [\d.naif]+\s*$",
    re.MULTILINE,
)


_STATED = re.compile(r"^(?:found|Overriding:) (\w+) = ([-+\d.eE]+)(?: \(inside|\s*$)")


class Lines(Dialect):
    """Besides its lines, what it says of the data ('found vocab_size = 65') and of the command line."""

    name = NAME
    lines = _LINE

    def take(self, line: str) -> Handler | None:
        return self.stated if _STATED.match(line) else None

    def stated(self, line: str, sink: Sink) -> None:
        match = _STATED.match(line)
        if match:
            sink.plan(match.group(1), to_float(match.group(2)))


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and len(_LINE.findall(source.text_head)) >= 2 else 0.0


DIALECT = Lines
READER = Reader(NAME, "nanoGPT log", sniff, partial(read_text, format=NAME))
