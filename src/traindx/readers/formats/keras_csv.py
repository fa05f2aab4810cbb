"""Keras CSVLogger: `epoch` first, then the metrics and their val_ twins; with append=True further trainings follow."""

from __future__ import annotations

from traindx.readers.base import LIKELY, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.table_engine import read_table
from traindx.readers.tables.table_layout import layout_of
from traindx.run import Run

_RATES = frozenset({"lr", "learning_rate"})


def sniff(source: Source) -> float:
    layout = layout_of(source)
    if layout is None or not layout.names or layout.names[0] != "epoch" or "loss" not in layout.names:
        return 0.0
    metrics = set(layout.names[1:])
    twins = {name for name in metrics if name.startswith("val_")}
    plain = all("/" not in name and " " not in name for name in metrics)
    paired = all(name.removeprefix("val_") in metrics for name in twins)
    own = bool(twins) or metrics <= _RATES | {"loss", "accuracy", "acc"}
    return LIKELY if plain and paired and own and "step" not in metrics else 0.0


def read(source: Source) -> list[Run]:
    sink = Sink(source, READER.name)
    read_table(source, sink)
    return sink.finish()


READER = Reader("keras-csv", "Keras CSVLogger", sniff, read)
