"""timm `summary.csv`: epoch, train_* and eval_* columns, with `args.yaml` beside it."""

from __future__ import annotations

from traindx.readers.base import LIKELY, Reader
from traindx.readers.settings import load_settings
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import layout_of
from traindx.run import Run


def sniff(source: Source) -> float:
    layout = layout_of(source)
    if layout is None or not layout.names or layout.names[0] != "epoch" or "train_loss" not in layout.names:
        return 0.0
    return LIKELY if any(name.startswith("eval_") for name in layout.names) else 0.0


def read(source: Source) -> list[Run]:
    sink = Sink(source, READER.name)
    settings = source.nearby("args.yaml", up=0)
    if settings is not None:
        sink.main.config.update(load_settings(settings))
    read_table(source, sink)
    return sink.finish()


READER = Reader("timm", "timm summary.csv", sniff, read)
