"""darknet (YOLO in C): ' 100: 2.34, 2.51 avg loss, 0.001 rate, 3.1 seconds, 6400 images': the names follow the
numbers."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "darknet"
_LINE = re.compile(
    r"^\s*(\d+): (-?[\d.]+|-?nan|-?inf), (-?[\d.]+|-?nan|-?inf) avg(?: loss)?, ([\d.]+) rate, ([\d.]+) seconds",
    re.MULTILINE,
)
_SCORE = re.compile(
    r"mean_average_precision \(mAP@?([\d.]+)\)\s*=\s*([\d.]+)|\bmean average precision \(mAP@([\d.]+)\) = ([\d.]+)"
)


class Batches(Dialect):
    def take(self, line: str) -> Handler | None:
        if _LINE.match(line):
            return self.batch
        return self.score if _SCORE.search(line) else None

    def batch(self, line: str, sink: Sink) -> None:
        match = _LINE.match(line)
        if match:
            step, loss, average, rate, seconds = (to_float(word) for word in match.groups())
            sink.emit({"loss": loss, "avg loss": average, "lr": rate, "step time": seconds}, step=step, dialect=NAME)

    def score(self, line: str, sink: Sink) -> None:
        match = _SCORE.search(line)
        if match:
            sink.emit({"mAP": to_float(match.group(2) or match.group(4))}, split="val", dialect=NAME)


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and _LINE.search(source.text_head) else 0.0


DIALECT = Batches
READER = Reader(NAME, "darknet log", sniff, partial(read_text, format=NAME))
