"""Any table of numbers with a header: CSV, TSV, semicolons and decimal commas, columns aligned by spaces, long tables
with a name and a value a row, W&B and TensorBoard CSV exports."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

from traindx.errors import TraindxError
from traindx.meaning import meaning_of
from traindx.readers.base import FALLBACK, LIKELY, POSSIBLE, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.cells import number_of
from traindx.readers.tables.frames import VALUE_NAMES, Frame, role_of
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import Layout, cells_of, layout_of
from traindx.readers.wrapped import unwrapped
from traindx.run import Run

# W&B's CSV export of a chart: 'brisk-sun-4 - train/loss', and its range under '…__MIN' and '…__MAX'
_WANDB_BOUND = re.compile(r"__M(?:IN|AX)$")
_WANDB_COLUMN = re.compile(r"^(?P<run>.+?) - (?P<metric>.+)$")
_TENSORBOARD_FILE = re.compile(r"tag-(?P<tag>.+)$")  # run-version_0-tag-train_loss.csv


def sniff(source: Source) -> float:
    whole = unwrapped(source)
    layout = layout_of(whole)
    if layout is None:
        return 0.0
    if layout.tells_training or _is_wandb_export(layout.names) or _is_long(layout):
        return POSSIBLE if whole is source else LIKELY
    return 0.0 if layout.labelled and not layout.counts else FALLBACK


def read(source: Source) -> list[Run]:
    source = unwrapped(source)
    layout = layout_of(source)
    if layout is None:
        raise TraindxError(f"{source.name} is no table of numbers.", "A table needs a header and columns of numbers.")
    if _is_wandb_export(layout.names):
        sink: Sink = _ExportSink(source, READER.name)
        read_table(source, sink, _without_bounds)
        return sink.finish()
    sink = Sink(source, READER.name)
    counted = _first_column_counts(source, layout)
    read_table(source, sink, lambda names: _named_by_file(names, source.path, counted))
    return sink.finish()


class _ExportSink(Sink):
    """A chart exported from W&B: each run has columns of its own beside the shared step."""

    def add(self, frame: Frame) -> None:
        runs: dict[str, Frame] = {}
        shared = {name: column for name, column in frame.numbers.items() if not _WANDB_COLUMN.match(name)}
        for name, column in frame.numbers.items():
            match = _WANDB_COLUMN.match(name)
            if match:
                part = runs.setdefault(match["run"], Frame(frame.length, dict(shared)))
                part.numbers[match["metric"]] = column
        for run, part in runs.items():
            self.feed(run, part)


def _is_wandb_export(names: Sequence[str]) -> bool:
    return any(_WANDB_BOUND.search(name) for name in names) and any(_WANDB_COLUMN.match(name) for name in names)


def _is_long(layout: Layout) -> bool:
    """A column of names beside one of values."""
    tags = any(role_of(layout.names[index]) == "tag" for index in layout.text_columns)
    return tags and any(name.lower() in VALUE_NAMES for name in layout.names)


def _without_bounds(names: Sequence[str]) -> list[str]:
    return ["" if _WANDB_BOUND.search(name) else name for name in names]


def _first_column_counts(source: Source, layout: Layout) -> bool:
    """Whether the first column of a table holds whole numbers that never fall: then it counts steps."""
    cells = [cells_of(line, layout.delimiter)[:1] for line in source.text_head.splitlines()[layout.skip : -1]]
    numbers = [number_of(cell[0]) for cell in cells if cell]
    ticks = [number for number in numbers if number is not None]
    whole = all(tick == tick and abs(tick) != float("inf") and tick == int(tick) for tick in ticks)
    return whole and sum(later < tick for tick, later in pairwise(ticks)) <= len(ticks) // 10


def _named_by_file(names: Sequence[str], path: Path, counted: bool) -> list[str]:
    """Where the header does not say what the one metric is ('Value', or no header at all), the file name may."""
    stem = path.name.split(".")[0]
    tag = _TENSORBOARD_FILE.search(path.stem)
    title = tag["tag"] if tag else stem
    metrics = [index for index, name in enumerate(names) if not name or meaning_of(name).kind == "other"]
    if not any(names):
        known = meaning_of(title).kind != "other"
        if len(names) == 1 or (len(names) == 2 and known and counted):
            return [*["step"] * (len(names) - 1), title]
        columns = [f"column {index + 1}" for index in range(len(names))]
        return [title, *columns[1:]] if known and not counted else columns
    if len(metrics) == 1 and names[metrics[0]].lower() in VALUE_NAMES:
        return [title if index == metrics[0] else name for index, name in enumerate(names)]
    return list(names)


READER = Reader("csv", "CSV, TSV and other tables", sniff, read)
