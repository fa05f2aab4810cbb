"""Ultralytics YOLO: `results.csv` (v5 pads its cells, v8 and later do not), with args.yaml, opt.yaml or hyp.yaml
beside."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from traindx.meaning import meaning_of
from traindx.readers.base import CERTAIN, Reader
from traindx.readers.settings import load_settings
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import layout_of
from traindx.run import Run

_SETTINGS = ("hyp.yaml", "opt.yaml", "args.yaml")


def sniff(source: Source) -> float:
    layout = layout_of(source)
    if layout is None:
        return 0.0
    names = set(layout.names)
    trains = any(name.startswith("train/") and name.endswith("loss") for name in names)
    rates = any(name.startswith(("x/lr", "lr/pg")) for name in names)
    scores = any(name.startswith("metrics/") for name in names)
    return CERTAIN if "epoch" in names and trains and (rates or scores) else 0.0


def read(source: Source) -> list[Run]:
    sink = Sink(source, READER.name, one_run=True, elapsed=["time"])
    for name in _SETTINGS:
        path = source.nearby(name, up=0)
        if path is not None:
            sink.main.config.update(load_settings(path))
    classes = _classes(source, sink.main.config)
    if classes is not None:
        sink.main.config.setdefault("num_classes", classes)
    layout = layout_of(source)
    for name in layout.names if layout else ():
        if name.startswith("metrics/"):  # measured on the validation images
            sink.main.declare(name, replace(meaning_of(name), split="val"))
    read_table(source, sink)
    return sink.finish()


def _classes(source: Source, config: dict[str, Any]) -> int | None:
    """The number of classes, from the data file the settings name if it lies within reach."""
    data = config.get("data")
    names = [Path(data).name] if isinstance(data, str) and data.endswith((".yaml", ".yml")) else []
    path = source.nearby(*names, "data.yaml", up=3)
    settings = load_settings(path) if path is not None else {}
    count = settings.get("nc")
    if isinstance(count, int | float) and count > 0:
        return int(count)
    listed = str(settings.get("names", "")).count("'") // 2
    return sum(key.startswith("names.") for key in settings) or listed or None


READER = Reader("yolo", "Ultralytics YOLO results.csv", sniff, read)
