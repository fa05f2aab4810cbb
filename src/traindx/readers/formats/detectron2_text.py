"""detectron2's log.txt: iteration lines, the settings dump before them, and results as 'copypaste' lines.

COCO's own summary ('Average Precision (AP) @[ IoU=0.50 | area= all | …] = 0.5') is read here too, since it is the
numbers inside the brackets that name the metric.
"""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np

from traindx.readers.base import CERTAIN, Reader
from traindx.readers.formats.text import read_text
from traindx.readers.source import Source
from traindx.readers.text.dialect import Dialect, Handler, Sink
from traindx.readers.text.tokens import to_float
from traindx.run import Run

NAME = "detectron2-text"
_COPYPASTE = re.compile(r"copypaste: (.*\S)")
_COCO = re.compile(
    r"Average (?:Precision|Recall)\s+\((AP|AR)\)\s*@\[ IoU=([\d.:]+)\s*\| area=\s*(\w+)\s*\| maxDets=\s*(\d+)\s*\] = "
    r"(\S+)"
)
_LIMIT = re.compile(r"^\s+MAX_ITER: (\d+)\s*$")
_NUMBERS = re.compile(r"(?:[-+\d.]+|nan)(?:,(?:[-+\d.eE]+|nan))*")
_LINE = re.compile(r"d2\.utils\.events\]?:? .*\biter: \d+ ")


class Results(Dialect):
    name = NAME
    lines = _LINE

    def __init__(self) -> None:
        self.task = ""
        self.names: list[str] = []
        self.coco: dict[str, float] = {}

    def take(self, line: str) -> Handler | None:
        if _COPYPASTE.search(line):
            return self.copypaste
        if _COCO.search(line):
            return self.summary
        return self.limit if _LIMIT.match(line) else None

    def limit(self, line: str, sink: Sink) -> None:
        match = _LIMIT.match(line)
        if match:
            sink.plan("planned_steps", float(match.group(1)))

    def copypaste(self, line: str, sink: Sink) -> None:
        match = _COPYPASTE.search(line)
        if match is None:
            return
        text = match.group(1)
        if text.startswith("Task:"):
            self.task, self.names = text[5:].strip(), []
        elif "=" in text:
            pairs = [part.split("=", 1) for part in text.split(",") if "=" in part]
            sink.emit(
                {f"{self.task}/{name.strip()}": to_float(value) for name, value in pairs}, split="val", dialect=NAME
            )
        elif _NUMBERS.fullmatch(text):
            values = [to_float(word) for word in text.split(",")]
            if len(values) == len(self.names):
                named = {f"{self.task}/{name}": value for name, value in zip(self.names, values, strict=True)}
                sink.emit(named, split="val", dialect=NAME)
        else:
            self.names = text.split(",")

    def summary(self, line: str, sink: Sink) -> None:
        match = _COCO.search(line)
        if match is None:
            return
        kind, overlap, area, most, value = match.groups()
        name = kind + ("" if ":" in overlap else f"{float(overlap) * 100:.0f}")
        name += f"@{most}" if kind == "AR" and area == "all" else "" if area == "all" else f"_{area}"
        if name in self.coco:  # the next evaluation begins
            self.coco = {}
        self.coco[name] = to_float(value)
        sink.emit({name: self.coco[name]}, split="val", dialect="coco")


def sniff(source: Source) -> float:
    return (
        CERTAIN
        if source.is_text and (_LINE.search(source.text_head) or "detectron2 INFO:" in source.text_head[:4096])
        else 0.0
    )


def read(source: Source) -> list[Run]:
    """The log, each validation loss once: its lines repeat the last one until there is another."""
    runs = read_text(source, format=NAME)
    for run in runs:
        for name, series in run.series.items():
            if series.meaning.kind == "loss" and series.meaning.split == "val" and len(series) > 1:
                new = np.append(True, series.values[1:] != series.values[:-1])
                times = None if series.times is None else series.times[new]
                run.series[name] = replace(series, steps=series.steps[new], values=series.values[new], times=times)
    return runs


DIALECT = Results
READER = Reader(NAME, "detectron2 log", sniff, read)
