"""Hugging Face Trainer on standard output: one Python dict a log step, between the frames of a progress bar.

Version 4 prints numbers, version 5 prints them as quoted words; both are names and numbers to the general rules. What
is added here: the planned length from the start banner, and the closing summary, which is an average over the whole
training and no point of its curve."""

from __future__ import annotations

import re
from functools import partial

from traindx.readers.base import LIKELY, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.lines import tidy
from traindx.readers.text.tokens import to_float

NAME = "hf-stdout"
_ROW = re.compile(r"\{'(?:eval_)?loss': '?[-\d.naif]+.*'epoch': '?[\d.]+'?\}")
_SUMMARY = re.compile(r"\{'train_runtime': ")
_PLANNED = re.compile(r"\b(Num Epochs|Total optimization steps) = ([\d,]+)")
# the Trainer's bar has no description and shows no metric
_BAR = re.compile(r"\s*\d+%\|[^|]*\| (\d+)/(\d+) \[[^\],]*,[^\],]*\]\s*$")
# what `log_metrics` prints at the end: '  eval_loss = nan' below '***** eval metrics *****'
_RESULT = re.compile(r"\s*(epoch|(?:eval|train|test|predict)_\w+)\s+=\s+([-+\d.e]+|nan|inf)\s*$", re.IGNORECASE)
_PACE = ("_runtime", "_per_second", "_samples")
_KEYS = {"Num Epochs": "planned_epochs", "Total optimization steps": "planned_steps"}


class TrainerLines(Dialect):
    name = NAME
    lines = _ROW

    def __init__(self) -> None:
        self.seen = False  # a row of the Trainer was met: bars without a description are its own
        self.total = 0.0
        self.announced = False
        self.results: dict[str, float] = {}

    def take(self, line: str) -> Handler | None:
        self.seen = self.seen or _ROW.search(line) is not None
        if _SUMMARY.search(line):
            return lambda line, sink: None
        if _BAR.match(line):
            return self.bar
        if _RESULT.match(line):
            return self.result
        return self.planned if _PLANNED.search(line) else None

    def bar(self, line: str, sink: Sink) -> None:
        match = _BAR.match(line)
        if match and float(match.group(1)) > 0:
            self.total = max(self.total, float(match.group(2)))

    def result(self, line: str, sink: Sink) -> None:
        match = _RESULT.match(line)
        if match and not match.group(1).endswith(_PACE):
            self.results[match.group(1)] = to_float(match.group(2))

    def close(self, sink: Sink) -> None:
        epoch = self.results.pop("epoch", None)
        if self.results and not self.seen:  # where rows were read, they say the same
            sink.emit(self.results, epoch=epoch, dialect=NAME)
        if self.seen and self.total and not self.announced:
            sink.plan("planned_steps", self.total)

    def planned(self, line: str, sink: Sink) -> None:
        match = _PLANNED.search(line)
        if match:
            self.announced = True
            sink.plan(_KEYS[match.group(1)], to_float(match.group(2)))


def sniff(source: Source) -> float:
    return LIKELY if source.is_text and _ROW.search(tidy(source.text_head)) else 0.0


DIALECT = TrainerLines
READER = Reader(NAME, "Hugging Face Trainer output", sniff, partial(read_text, format=NAME))
