"""Keras progress bars on standard output: one row an epoch, from the last frame of its bar.

The frames before it show running averages over the batches seen so far; they would bend the curve, so they are left
out, except when no epoch was ever finished. A bar without an epoch header of its own is `model.evaluate`.
"""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.lines import tidy
from traindx.readers.text.tokens import to_float

NAME = "keras-progress"
_HEADER = re.compile(r"\s*Epoch (\d+)(?:/(\d+))?\s*$")  # releases before 1.0 give no total
_FRAME = re.compile(r"\s*(\d+)/(\d+|Unknown)\s*(?:\[[=>.#-]*\]|[━╸╺─╴╶]+|(?=- \d))\s*(?:-\s)?(.*)$")
_SUMMARY = re.compile(r"\s*- (\d+s(?: \d+[mu]?s/step)? - (?:loss|\w+):.*)$")  # verbose=2 of older releases
_PAIR = re.compile(
    r"(?:^|- |\s)([A-Za-z_][\w.\-/]*(?: [\w.\-/]+)?): ([-+]?(?:\d[\d.]*(?:[eE][-+]?\d+)?|nan|inf))(?=\s|$)"
)
_PACE = re.compile(r"(\d+(?:\.\d+)?)(s|ms|us|µs)/(?:step|sample)")
_TO_MS = {"s": 1e3, "ms": 1.0, "us": 1e-3, "µs": 1e-3}
_PLATEAU = re.compile(r"Epoch 0*(\d+): .*reducing learning rate(?: of group \d+)? to ([\d.eE+-]+?)\.?\s*$")


class KerasBars(Dialect):
    """Frames are held back until the bar starts again or ends: only then is the last one known."""

    def __init__(self) -> None:
        self.epoch: float | None = None
        self.fresh = False  # an epoch header stands before the current bar
        self.finished = 0
        self.frame: tuple[float, float, dict[str, float], int] | None = None

    def take(self, line: str) -> Handler | None:
        if _HEADER.match(line):
            return self.header
        if _PLATEAU.search(line):
            return self.plateau
        return self.bar if _FRAME.match(line) or _SUMMARY.match(line) else None

    def header(self, line: str, sink: Sink) -> None:
        match = _HEADER.match(line)
        if match is None:
            return
        self.flush(sink)
        self.epoch, self.fresh = float(match.group(1)), True
        sink.count(epoch=self.epoch)
        if match.group(2) is not None:
            sink.plan("planned_epochs", float(match.group(2)))

    def plateau(self, line: str, sink: Sink) -> None:
        match = _PLATEAU.search(line)
        if match:
            sink.emit({"lr": to_float(match.group(2))}, epoch=float(match.group(1)), dialect=NAME)

    def bar(self, line: str, sink: Sink) -> None:
        match = _FRAME.match(line)
        summary = _SUMMARY.match(line)
        if match is None and summary is None:
            return
        done, total, rest = (1.0, 1.0, summary.group(1)) if match is None and summary else _counts(match)
        values = {name: to_float(value) for name, value in _PAIR.findall(rest) if name != "ETA"}
        if self.frame is not None and done < self.frame[0]:
            self.flush(sink)
        if not values:
            return
        pace = _PACE.search(rest)
        if pace and done >= total:
            values["ms/step"] = float(pace.group(1)) * _TO_MS[pace.group(2)]
        self.frame = (done, total, values, sink.place)

    def flush(self, sink: Sink, at_end: bool = False) -> None:
        if self.frame is None:
            return
        done, total, values, place = self.frame
        self.frame = None
        if done < total and not (at_end and not self.finished):
            return
        evaluation = self.epoch is not None and not self.fresh
        self.fresh = False
        self.finished += 1
        sink.emit(values, epoch=self.epoch, split="test" if evaluation else "", dialect=NAME, place=place)
        if total > 1 and not evaluation:
            sink.plan("steps_per_epoch", total)

    def close(self, sink: Sink) -> None:
        self.flush(sink, at_end=True)


def _counts(match: re.Match[str] | None) -> tuple[float, float, str]:
    assert match is not None
    total = match.group(2)
    done = float(match.group(1))
    return done, done if total == "Unknown" else float(total), match.group(3)


def sniff(source: Source) -> float:
    """An epoch header with a bar or a summary below it."""
    if not source.is_text:
        return 0.0
    lines = tidy(source.text_head).split("\n")
    headers = any(_HEADER.match(line) for line in lines)
    bars = any((match := _FRAME.match(line)) is not None and _PAIR.search(match.group(3)) for line in lines)
    return LIKELY if headers and (bars or any(_SUMMARY.match(line) for line in lines)) else 0.0


DIALECT = KerasBars
READER = Reader(NAME, "Keras progress bars", sniff, partial(read_text, format=NAME))
