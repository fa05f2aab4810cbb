"""Lightning's CSVLogger: `metrics.csv`, sparse rows with epoch and step, and `hparams.yaml` beside it."""

from __future__ import annotations

from traindx.readers.base import LIKELY, POSSIBLE, Reader
from traindx.readers.settings import load_settings
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import Layout, layout_of
from traindx.run import Run

_SETTINGS = "hparams.yaml"


def sniff(source: Source) -> float:
    layout = layout_of(source)
    if layout is None or layout.delimiter != "," or not {"epoch", "step"} <= set(layout.names):
        return 0.0
    if _is_own(source, layout):
        return LIKELY
    return POSSIBLE + 0.1 if _is_sparse(source, layout) else 0.0


def read(source: Source) -> list[Run]:
    layout = layout_of(source)
    # a version folder holds one training; what only looks alike may hold several
    sink = Sink(source, READER.name, one_run=layout is not None and _is_own(source, layout))
    settings = source.nearby(_SETTINGS, up=0)
    if settings is not None:
        sink.main.config.update(load_settings(settings))
    read_table(source, sink)
    return sink.finish()


def _is_own(source: Source, layout: Layout) -> bool:
    """The logger sorts its columns, and leaves the hyper-parameters beside its file."""
    return list(layout.names) == sorted(layout.names) or source.nearby(_SETTINGS, up=0) is not None


def _is_sparse(source: Source, layout: Layout) -> bool:
    """Training and validation stand in rows of their own, so most rows have blank cells."""
    rows = source.text_head.split("\n")[layout.skip : layout.skip + 50]
    return sum(",," in row or row.rstrip("\r").endswith(",") for row in rows) > 0.5 * len(rows)


READER = Reader("lightning-csv", "Lightning CSVLogger", sniff, read)
