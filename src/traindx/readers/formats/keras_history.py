"""A Keras History saved as JSON: {"loss": […], "val_loss": […], …}, perhaps under "history"."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from traindx.errors import TraindxError
from traindx.readers.base import LIKELY, Reader
from traindx.readers.sink import Sink
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import feed_document, load_document, peek
from traindx.run import Run, flatten


def sniff(source: Source) -> float:
    return LIKELY if _history(peek(source)) else 0.0


def read(source: Source) -> list[Run]:
    value, lost = load_document(source)
    history = _history(value)
    if not history:
        raise TraindxError(f"{source.name} is no Keras history.", "It should hold one list of numbers a metric.")
    sink = Sink(source, READER.name, one_run=True)
    if lost:
        sink.main.lost.append(lost)
    feed_document(history, sink, "loss")
    if isinstance(value, Mapping) and history is not value:
        sink.main.config.update(
            flatten({key: item for key, item in value.items() if not isinstance(item, list) and key != "history"})
        )
    return sink.finish()


def _history(value: Any) -> Mapping[str, Any]:
    """The history in this value: nothing but lists, 'loss' among them, and each 'val_' metric with its training
    twin."""
    if isinstance(value, Mapping) and isinstance(value.get("history"), Mapping):
        value = value["history"]
    if not isinstance(value, Mapping) or not isinstance(value.get("loss"), list):
        return {}
    if not all(isinstance(item, list | Mapping) for item in value.values()) or any("/" in str(key) for key in value):
        return {}
    twins = [key for key in value if str(key).startswith("val_")]
    return value if all(str(key).removeprefix("val_") in value for key in twins) and _even(value) else {}


def _even(history: Mapping[str, Any]) -> bool:
    lengths = [len(item) for item in history.values() if isinstance(item, list) and item]
    return bool(lengths) and max(lengths) - min(lengths) <= max(1, max(lengths) - 2)


READER = Reader("keras-history", "Keras History as JSON", sniff, read)
