"""Tables of name and value in ASCII boxes: stable-baselines3, baselines, Spinning Up."""

from __future__ import annotations

import re
from functools import partial

from traindx.meaning import meaning_of, step_rank
from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import NUMBER, to_float

NAME = "sb3-table"
_ROW = re.compile(r"\s*\|(\s*)([^|]*?)\s*\|\s*([^|]*?)\s*\|\s*$")
_RULE = re.compile(r"\s*[-=+]{8,}\s*$")


class BoxTables(Dialect):
    """A table is a row; it ends with its lower rule. 'rollout/' on a line by itself opens a section."""

    def __init__(self) -> None:
        self.section = ""
        self.values: dict[str, float] = {}
        self.inside = False

    def take(self, line: str) -> Handler | None:
        if _RULE.match(line):
            return self.rule
        return self.row if _ROW.match(line) else None

    def rule(self, line: str, sink: Sink) -> None:
        self.flush(sink)
        self.inside = True

    def row(self, line: str, sink: Sink) -> None:
        match = _ROW.match(line)
        if match is None or not self.inside:
            return
        name, value = match.group(2), match.group(3)
        if name.endswith("/") and not value:
            self.section = name
        elif NUMBER.fullmatch(value):
            indented = len(match.group(1)) > 1
            self.values[f"{self.section}{name}" if indented else name] = to_float(value)

    def flush(self, sink: Sink) -> None:
        values, self.values, self.section = self.values, {}, ""
        if not any(meaning_of(name).kind not in ("other", "step", "epoch", "stamp") for name in values):
            return
        counters = [name for name in values if meaning_of(name).kind == "step"]
        step = values[max(counters, key=step_rank)] if counters else None
        epoch = next((value for name, value in values.items() if meaning_of(name).kind == "epoch"), None)
        sink.emit(values, step=step, epoch=epoch, dialect=NAME)

    def close(self, sink: Sink) -> None:
        self.values = {}  # a table without its lower rule was cut off


def sniff(source: Source) -> float:
    """At least one whole box with several numbers in it."""
    if not source.is_text:
        return 0.0
    lines = source.text_head.split("\n")
    rows = [match for line in lines if (match := _ROW.match(line.rstrip("\r")))]
    numbers = sum(NUMBER.fullmatch(match.group(3)) is not None for match in rows)
    rules = sum(_RULE.match(line.rstrip("\r")) is not None for line in lines)
    return LIKELY if numbers >= 3 and rules >= 2 else 0.0


DIALECT = BoxTables
READER = Reader(NAME, "stable-baselines tables", sniff, partial(read_text, format=NAME))
