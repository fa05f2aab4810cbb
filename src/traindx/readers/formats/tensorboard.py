"""TensorBoard event files: one directory is one run, however many files and helper directories it has."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.binary.tfdecode import EventDecoder
from traindx.readers.binary.tfevent import Note, hparams_of
from traindx.readers.binary.tfrecord import RecordStream
from traindx.readers.binary.wire import MalformedError
from traindx.readers.build import RunBuilder
from traindx.readers.clocks import align_clocks
from traindx.readers.formats.tensorboard_files import EventFile, bundles, files_of_run, looks_like_events
from traindx.readers.settings import load_settings, settings_from
from traindx.readers.source import Source
from traindx.run import Run, flatten

_SETTINGS = ("hparams.yaml", "args.yaml", "config.yaml", "config.json", "args.json", "params.json", "hparams.json")
_TABLE_BARS = 4  # a text with more '|' than this is a table
_TABLE_ROW = re.compile(r"^\s*\|?\s*([A-Za-z_][\w./-]*)\s*\|\s*([^|\n]+?)\s*\|?\s*$", re.MULTILINE)


def _sniff(source: Source) -> float:
    return CERTAIN if looks_like_events(source) else 0.0


def _claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    return bundles(files)


def _read(source: Source) -> list[Run]:
    root, files = files_of_run(source.path)
    builder = RunBuilder(source.name, "tensorboard", one_run=True)
    for name in _SETTINGS:
        if (root / name).is_file():
            builder.config.update(load_settings(root / name))
    total = sum(file.path.stat().st_size for file in files)
    done = records = 0
    for file in files:
        records += _read_file(file, builder, source, done, total)
        done += file.path.stat().st_size
    if not records:
        raise TraindxError(
            f"{source.name} is a TensorBoard event file without a single whole record in it.",
            "Check that it was copied completely, or give another file of the same run.",
        )
    runs = builder.finish()
    for run in runs:
        align_clocks(run)
    return runs


def _read_file(file: EventFile, builder: RunBuilder, source: Source, done: int, total: int) -> int:
    """Append one file to the run; returns how many records could be read."""
    decoder = EventDecoder()
    with Source(file.path).open() as raw:
        stream = RecordStream(raw)
        for frames in stream:
            for tag, steps, values, times in decoder.points(frames):
                builder.series(f"{file.before}{tag}{file.after}", steps, values, times)
            if source.progress:
                source.progress(min(done + stream.done, total), total)
    for note in decoder.notes:
        builder.config.update(_settings_in(note))
    builder.lost.extend(_what_was_lost(file.path.name, decoder, stream))
    return decoder.events


def _what_was_lost(name: str, decoder: EventDecoder, stream: RecordStream) -> Iterable[str]:
    if decoder.damaged:
        total = decoder.damaged + decoder.events
        yield f"{name}: {decoder.damaged:,} of {total:,} records are damaged and were left out."
    if stream.gaps:
        places = "one place" if stream.gaps == 1 else f"{stream.gaps:,} places"
        yield f"{name}: {stream.gap_bytes:,} bytes in {places} are no records; reading went on behind them."
    if stream.oversized:
        yield f"{name}: {stream.oversized:,} records too large to hold scalars were passed over."
    if stream.unpacking_failed:
        yield f"{name}: the compressed file is damaged or cut off; what comes after that place is lost."
    elif stream.cut_bytes:
        yield f"{name}: ends in the middle of a record; its last {stream.cut_bytes:,} bytes were not read."


def _settings_in(note: Note) -> dict[str, Any]:
    """Settings that were logged as hparams, as a JSON or YAML text (HF Trainer) or as a Markdown table (CleanRL)."""
    try:
        if note.plugin == "hparams":
            return flatten(hparams_of(note.content))
    except MalformedError:
        return {}
    settings: dict[str, Any] = {}
    for text in note.texts:
        rows = _TABLE_ROW.findall(text) if text.count("|") > _TABLE_BARS else []
        settings.update(settings_from("\n".join(f"{name}: {value}" for name, value in rows) if rows else text))
    return settings


READER = Reader("tensorboard", "TensorBoard event files", _sniff, _read, _claim)
