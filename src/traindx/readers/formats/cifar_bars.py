"""The hand-made progress bar of the many forks of pytorch-cifar: ' [=== 391/391 ==>]  Step: 9ms | Tot: 9s | Loss: 1.9 |
…'.

The bar writes its counter with backspaces into its own middle, so that in a file it stands in the bar, behind the
message or on a line of its own. The first bar of an epoch is the training, a second one the test; the last frame of a
bar is its result, the frames before are running averages."""

from __future__ import annotations

import re

from traindx.meaning import Split
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float

NAME = "cifar-bars"
_MESSAGE = re.compile(
    r"\s*\[[=>.\s]*(?:(\d+)/(\d+)\s*[=>.\s]*)?\]\s*Step:\s+\S+ \| Tot:\s+\S+ \| (.*?)(?:\s(\d+)/(\d+))?\s*$"
)
_PAIR = re.compile(r"([A-Za-z][\w ]*?):\s*(-?[\d.]+(?:e[-+]?\d+)?|-?nan|-?inf)", re.IGNORECASE)
_COUNT = re.compile(r"\s*(\d+)/(\d+)\s*$")
_EPOCH = re.compile(r"\s*Epoch: (\d+)\s*$")


class Bars(Dialect):
    def __init__(self) -> None:
        self.values: dict[str, float] = {}
        self.bars = 0  # finished in this epoch
        self.used = False

    def take(self, line: str) -> Handler | None:
        if _MESSAGE.match(line):
            self.used = True
            return self.message
        if _EPOCH.match(line):
            return self.epoch
        return self.count if self.used and _COUNT.match(line) else None

    def epoch(self, line: str, sink: Sink) -> None:
        match = _EPOCH.match(line)
        if match:
            self.bars = 0
            sink.count(epoch=float(match.group(1)))

    def message(self, line: str, sink: Sink) -> None:
        match = _MESSAGE.match(line)
        if match is None:
            return
        self.values = {name.strip(): to_float(value) for name, value in _PAIR.findall(match.group(3))}
        done, total = match.group(1) or match.group(4), match.group(2) or match.group(5)
        if done:
            self.finish(done, total, sink)

    def count(self, line: str, sink: Sink) -> None:
        match = _COUNT.match(line)
        if match:
            self.finish(match.group(1), match.group(2), sink)

    def finish(self, done: str, total: str, sink: Sink) -> None:
        """The last frame of a bar is a row."""
        if done == total and self.values:
            split: Split = "train" if self.bars == 0 else "test"
            sink.emit(self.values, split=split, dialect=NAME)
            self.bars += 1
            self.values = {}


DIALECT = Bars
