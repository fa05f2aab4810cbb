"""The JSON-lines engine: one object a line as frames, in blocks, so that memory stays bounded.

Rows that only hold numbers and words under known keys are decoded straight into structs and read off in columns.
Everything else (nested rows, bare NaN inside words, Python dicts, lines that are no JSON) goes row by row.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from operator import attrgetter
from typing import Any

import msgspec
import numpy as np

from traindx.meaning import OBJECTIVES, meaning_of
from traindx.readers.sink import Sink
from traindx.readers.source import HEAD_BYTES, Source
from traindx.readers.tables.cells import INF, NAN, number_of
from traindx.readers.tables.frames import Column, Frame, Labels, role_of
from traindx.readers.tables.jsontext import flat_row, parse_line
from traindx.readers.text.blocks import line_blocks
from traindx.run import flatten

_MAX_KEYS = 1024  # rows with more keys than this are read one by one
_HEAD_ROWS = 60
_MAX_CELLS = 1 << 20  # of one frame: 8 MB
_FLUSH_VALUES = 1 << 17  # numbers gathered before they go on: some megabytes
# numbers that no log holds stand in for what JSON cannot write, and for keys a row does not have
_MISSING, _NAN, _INF, _MINUS_INF = -6e22, -7e22, -8e22, -9e22
_ODD_VALUE = re.compile(rb"(?<=[:\s])(-?)(NaN|Infinity|nan|inf)(?=\s*[,}])")
_KINDS: dict[type, Any] = {float: float, int: float, str: str, bool: bool, type(None): float}
_UNFIT_KEY = re.compile(r'[\\"\x00-\x1f\ud800-\udfff]')  # a struct's field cannot be called that
_CONFIG_KEYS = frozenset(
    {"config", "args", "hparams", "hyperparameters", "hyper_parameters", "params", "settings", "cfg"}
)
_CONFIG_WORDS = frozenset(
    {"config", "hparams", "args", "params", "meta", "metadata", "header", "hyperparameters", "setup"}
)
_any_rows = msgspec.json.Decoder()


@lru_cache(maxsize=8)
def head_rows(source: Source) -> tuple[dict[str, Any], ...]:
    """The first rows of a file of JSON lines; empty when it is none. Most lines must be objects of one line each."""
    if not source.is_text:
        return ()
    lines = source.text_head.lstrip("\ufeff \r\n\t").splitlines()
    if len(source.head) >= HEAD_BYTES and len(lines) > 1:
        lines = lines[:-1]  # the head ends in the middle of it
    filled = [line for line in lines[: 2 * _HEAD_ROWS] if line.strip() and line.strip() not in ("[", "]")]
    rows = [row for row in (_object(line) for line in filled[:_HEAD_ROWS]) if row]
    return tuple(rows) if len(rows) > 0.5 * len(filled[:_HEAD_ROWS]) else ()


def json_objects(source: Source, lost: list[str]) -> Iterator[dict[str, Any]]:
    """Every object of the file, one a line; what cannot be read is counted in `lost`."""
    skipped = 0
    for block, whole in line_blocks(source):
        for row in _block_objects(block):
            if row is not None:
                yield row
            elif whole:
                skipped += 1
            else:
                lost.append("the last line is cut off")
    if skipped:
        lost.append(f"lines that are no JSON objects: {skipped}")


def read_json_rows(source: Source, sink: Sink) -> None:
    """Feed the rows of a file of JSON lines to the sink."""
    reader = _RowReader(sink, head_rows(source))
    for block, whole in line_blocks(source):
        reader.add(block, whole)
    reader.finish()


class _RowReader:
    def __init__(self, sink: Sink, sample: Sequence[Mapping[str, Any]]) -> None:
        self._sink = sink
        self._skipped = 0
        self._keys: dict[str, type] = {}
        self._decoder: msgspec.json.Decoder[list[Any]] | None = None
        self._fits = True
        self._rows: list[Any] = []  # decoded, not yet handed on
        self._learn(sample)

    def add(self, block: bytes, whole: bool) -> None:
        if self._decoder is not None:
            odd = (b"N" in block and b"NaN" in block) or (
                b"I" in block and b"Infinity" in block
            )  # one byte is found faster
            data = _ODD_VALUE.sub(_stand_in, block) if odd else block
            try:
                rows = self._decoder.decode_lines(data)
            except (msgspec.DecodeError, UnicodeDecodeError):
                pass
            else:
                self._rows.extend(rows)
                if len(self._rows) * len(self._keys) >= _FLUSH_VALUES:
                    self._flush()
                return
        self._flush()
        objects = []
        for row in _block_objects(block):
            if row is not None:
                objects.append(row)
            elif whole:
                self._skipped += 1
            else:
                self._sink.main.lost.append("the last line is cut off")
        self._learn(objects)
        self._row_by_row(objects)

    def finish(self) -> None:
        self._flush()
        if self._skipped:
            self._sink.main.lost.append(f"lines that are no JSON objects: {self._skipped}")

    def _learn(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Take up keys not seen before; give up on structs where a row does not fit one."""
        known = len(self._keys)
        for row in rows if self._fits else ():
            self._fits = not _is_config(row) and all(self._takes(key, value) for key, value in row.items())
            if not self._fits or len(self._keys) > _MAX_KEYS:
                self._fits, self._decoder = False, None
                return
        if len(self._keys) > known:
            fields: list[tuple[str, Any, Any]] = []
            for index, (key, kind) in enumerate(self._keys.items()):
                default = _MISSING if kind is float else None
                fields.append((f"f{index}", kind | None, msgspec.field(name=key, default=default)))
            row_type = msgspec.defstruct("Row", fields, forbid_unknown_fields=True, gc=False)
            self._decoder = msgspec.json.Decoder(row_type)

    def _takes(self, key: str, value: Any) -> bool:
        """Whether the value is of the kind this key has had so far. A null may yet become a number."""
        kind = _KINDS.get(type(value))
        if kind is None or _UNFIT_KEY.search(key) or (kind is str and number_of(value) is not None):
            return False
        return self._keys.setdefault(key, kind) is kind or value is None

    def _flush(self) -> None:
        rows, self._rows = self._rows, []
        frame = Frame(len(rows))
        for index, (key, kind) in enumerate(self._keys.items()):
            cells = map(attrgetter(f"f{index}"), rows)
            if kind is float:
                frame.numbers[key] = _column(list(cells), key, frame)
            elif kind is str and role_of(key):
                frame.labels[key] = Labels.of([cell or "" for cell in cells])
        self._sink.add(frame)

    def _row_by_row(self, rows: Sequence[Mapping[str, Any]]) -> None:
        measured = []
        for row in rows:
            if _is_config(row):
                self._sink.main.config.update(flatten(_config_of(row)))
                row = _without_config(row)
            if row:
                measured.append(row)
        for frame in frames_of(measured):
            self._sink.add(frame)


def frames_of(rows: Iterable[Mapping[str, Any]]) -> Iterator[Frame]:
    """Rows of any shape as frames; a new one begins where rows that share few keys would make it too large."""
    gathered = _Gathered()
    for row in rows:
        if gathered.cells > _MAX_CELLS:
            yield gathered.frame()
            gathered = _Gathered()
        gathered.add(row)
    yield gathered.frame()


@dataclass(slots=True)
class _Gathered:
    """Rows on their way into one frame, column by column."""

    length: int = 0
    numbers: dict[str, tuple[list[int], list[float]]] = field(default_factory=dict)  # places and values
    words: dict[str, list[str]] = field(default_factory=dict)
    nulls: dict[str, list[int]] = field(default_factory=dict)  # places

    @property
    def cells(self) -> int:
        return len(self.numbers) * self.length

    def add(self, row: Mapping[str, Any]) -> None:
        numbers, words, place = self.numbers, self.words, self.length
        row_numbers, row_words = flat_row(row)
        for name, value in row_numbers.items():
            column = numbers.get(name)
            if column is None:
                column = numbers[name] = ([], [])
            column[0].append(place)
            column[1].append(value)
        for name, word in row_words.items():
            if role_of(name):
                words.setdefault(name, [""] * place).append(word)
        for name, value in row.items():
            if value is None and meaning_of(name).kind == "loss":
                self.nulls.setdefault(name, []).append(place)
        self.length = place + 1
        for texts in words.values():
            if len(texts) < self.length:
                texts.append("")

    def frame(self) -> Frame:
        frame = Frame(self.length)
        for name, (places, values) in self.numbers.items():
            array = np.full(self.length, NAN)
            array[places] = values
            here = None
            if len(places) < self.length:
                here = np.zeros(self.length, dtype=np.bool_)
                here[places] = True
            frame.numbers[name] = (array, here)
        frame.labels = {name: Labels.of(texts) for name, texts in self.words.items()}
        for name, rows in self.nulls.items():
            frame.nulls[name] = np.zeros(self.length, dtype=np.bool_)
            frame.nulls[name][rows] = True
        return frame


def _block_objects(block: bytes) -> Iterator[dict[str, Any] | None]:
    """The object on each line that is not blank; None for a line that has none."""
    try:
        rows = _any_rows.decode_lines(block)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        rows = None
    if rows is not None:
        for row in rows:
            for item in row if isinstance(row, list) else [row]:  # a list written over several lines counts as one
                yield item if isinstance(item, dict) else None
        return
    for line in block.decode("utf-8", errors="replace").split("\n"):
        if line.strip() and line.strip() not in ("[", "]"):
            yield _object(line)


def _object(line: str) -> dict[str, Any] | None:
    """The object on a line, also behind a prefix ('INFO {…}'); a quote before it means that it is part of another."""
    start = line.find("{")
    if start < 0 or '"' in line[:start] or "'" in line[:start]:
        return None
    value = parse_line(line[start:])
    return value if isinstance(value, dict) and all(isinstance(key, str) for key in value) else None


def _is_config(row: Mapping[str, Any]) -> bool:
    """Whether the row tells the settings instead of a measurement."""
    if any(key in _CONFIG_KEYS and isinstance(value, Mapping) for key, value in row.items()):
        return True
    return any(row.get(key) in _CONFIG_WORDS for key in ("type", "event", "kind") if isinstance(row.get(key), str))


def _config_of(row: Mapping[str, Any]) -> Mapping[str, Any]:
    inner = [value for key, value in row.items() if key in _CONFIG_KEYS and isinstance(value, Mapping)]
    return inner[0] if inner else row


def _without_config(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """What is measured in a row that also tells all settings, as RLlib's result.json does; empty where nothing is."""
    rest = {key: value for key, value in row.items() if key not in _CONFIG_KEYS}
    kinds = {meaning_of(name).kind for name in flat_row(rest)[0]}
    return rest if kinds & {"step", "epoch"} and kinds & set(OBJECTIVES) else {}


def _stand_in(match: re.Match[bytes]) -> bytes:
    if match.group(2).lower() == b"nan":
        return b"-7e22"
    return b"-9e22" if match.group(1) else b"-8e22"


def _column(cells: list[float | None], key: str, frame: Frame) -> Column:
    """Values with their stand-ins taken back; null is no value, and noted where it stands for a loss."""
    values = np.fromiter(cells, dtype=np.float64, count=len(cells))  # None becomes NaN, which JSON itself cannot say
    lowest = values.min(initial=0.0)
    if lowest > _MISSING:
        return values, None
    null = np.isnan(values)
    if meaning_of(key).kind == "loss" and null.any():
        frame.nulls[key] = null
    here = (values != _MISSING) & ~null
    for stand_in, meant in ((_MISSING, NAN), (_NAN, NAN), (_INF, INF), (_MINUS_INF, -INF)):
        values[values == stand_in] = meant
    return values, None if here.all() else here
