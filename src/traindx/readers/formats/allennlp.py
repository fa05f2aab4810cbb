"""AllenNLP: metrics_epoch_N.json for every epoch, metrics.json at the end, config.json beside them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.reach import may_read
from traindx.readers.settings import load_settings
from traindx.readers.source import Source
from traindx.readers.tables.json_tables import load_document, peek
from traindx.readers.tables.jsontext import flat_row
from traindx.run import Event, Run

_EPOCH_FILE = re.compile(r"^metrics_epoch_(\d+)\.json$")
_SUMMARY = "metrics.json"
_COMPANIONS = (_SUMMARY, "config.json", "out.log", "stdout.log", "stderr.log", "python_logging.log")  # its own logs
_OWN_KEYS = frozenset({"training_duration", "training_start_epoch", "training_epochs", "best_epoch"})
_COUNTS = ("training_start_epoch", "training_epochs", "best_epoch")


def sniff(source: Source) -> float:
    value = peek(source)
    if not isinstance(value, Mapping):
        return 0.0
    return (
        CERTAIN if len(_OWN_KEYS & set(value)) >= 2 and any(str(key).startswith("training_") for key in value) else 0.0
    )


def read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, READER.name, one_run=True)
    config = source.nearby("config.json", up=0)
    if config is not None:
        builder.config.update(load_settings(config))
    series = {
        number: path
        for path in filter(may_read, source.path.parent.glob("metrics_epoch_*.json"))
        if (number := _number(path)) is not None
    }
    summary = source.path.parent / _SUMMARY
    for number in sorted(series):
        _add(builder, _load(Source(series[number]), builder), float(number))
    if not series:
        value = _load(source, builder)
        if not isinstance(value, Mapping):
            raise TraindxError(
                f"{source.name} cannot be read as AllenNLP metrics.", "metrics_epoch_N.json files were looked for."
            )
        _add(builder, value, None)
    if summary.is_file() and may_read(summary):
        builder.events.append(Event("finished", "metrics.json was written", float(max(series)) if series else None))
    return builder.finish()


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    folders: dict[Path, list[Path]] = {}
    for path in files:
        if _number(path) is not None:
            folders.setdefault(path.parent, []).append(path)
    bundles = []
    for parent, epochs in folders.items():
        epochs.sort(key=lambda path: _number(path) or 0)
        others = [path for path in files if path.parent == parent and path.name in _COMPANIONS]
        bundles.append(Bundle(epochs[-1], frozenset([*epochs, *others])))
    return bundles


def _add(builder: RunBuilder, value: Any, epoch: float | None) -> None:
    """An epoch's numbers; 'best_…' repeats earlier ones and the counts are no measurements."""
    if not isinstance(value, Mapping):
        return
    numbers, _ = flat_row(value)
    epoch = numbers.pop("epoch", epoch) if epoch is None else epoch
    kept = {
        name: number
        for name, number in numbers.items()
        if not name.startswith("best_") and name not in (*_COUNTS, "epoch")
    }
    builder.row(kept, epoch=epoch)


def _load(source: Source, builder: RunBuilder) -> Any:
    value, lost = load_document(source)
    if value is None or lost:
        builder.lost.append(f"{source.path.name} is damaged")
    return value


def _number(path: Path) -> int | None:
    match = _EPOCH_FILE.match(path.name)
    return int(match.group(1)) if match else None


READER = Reader("allennlp", "AllenNLP metrics", sniff, read, claim)
