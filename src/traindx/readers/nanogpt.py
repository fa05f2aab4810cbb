"""nanoGPT and build-nanogpt: 'iter 10: loss 4.1, time 12ms, mfu 3%', 'step 250: train loss 2.1, val loss 2.2', '250 hella 0.3'."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.dialect import Dialect
from traindx.readers.source import Source
from traindx.readers.text import read_text

NAME = "nanogpt"
_LINE = re.compile(
    r"^iter \d+: loss \S+, time \S+ms|^step \d+: train loss \S+, val loss \S+|^\d+ (?:train|val|hella) [\d.naif]+\s*$",
    re.MULTILINE,
)


class Lines(Dialect):
    name = NAME
    lines = _LINE


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and len(_LINE.findall(source.text_head)) >= 2 else 0.0


DIALECT = Lines
READER = Reader(NAME, "nanoGPT log", sniff, partial(read_text, format=NAME))
