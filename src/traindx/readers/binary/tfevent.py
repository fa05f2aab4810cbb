"""One TensorBoard Event record, taken apart: where its time, step, tags and values lie, and what else it says.

Field numbers are those of TensorFlow's event.proto, summary.proto, tensor.proto and TensorBoard's hparams
plugin_data.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from traindx.readers.binary.wire import BYTES, FIXED32, FIXED64, VARINT, double, fields, signed, text, varint

_DTYPES = {1: "<f4", 2: "<f8", 3: "<i4", 4: "u1", 5: "<i2", 6: "i1", 9: "<i8", 10: "?", 17: "<u2", 19: "<f2", 22: "<u4",
           23: "<u8"}  # fmt: skip
_BFLOAT16, _STRING = 14, 7
_REPEATED_VARINTS = frozenset({7, 10, 11, 16, 17})  # int_val, int64_val, bool_val, uint32_val, uint64_val
_REPEATED_FIXED = {5: "<f4", 6: "<f8"}  # float_val, double_val
_HALF_VAL = 13


@dataclass(slots=True)
class Point:
    """One scalar: its tag lies at data[tag_at:tag_end]. A plain number lies at `value_at` in `dtype`; one that is
    written in another way has been worked out already and stands in `value`."""

    tag_at: int
    tag_end: int
    value_at: int = -1
    dtype: str = ""
    value: float = 0.0


@dataclass(slots=True)
class Note:
    """A value that is no number: a text, or the settings of a run."""

    tag: str
    plugin: str
    content: bytes  # the plugin's own message
    texts: list[str]


@dataclass(slots=True)
class Event:
    """The parts of one record; `rich` when there is more in it than scalars (images, histograms, a graph)."""

    wall_at: int = -1
    step_at: int = -1
    step_end: int = -1
    points: list[Point] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rich: bool = False
    version: bool = False

    def wall(self, data: bytes) -> float:
        return double(data, self.wall_at) if self.wall_at >= 0 else float("nan")

    def step(self, data: bytes) -> int:
        return signed(varint(data, self.step_at, self.step_end)[0]) if self.step_at >= 0 else 0


def value_of(point: Point, data: bytes) -> float:
    if point.value_at < 0:
        return point.value
    return float(np.frombuffer(data, dtype=point.dtype, count=1, offset=point.value_at)[0])


def parse_event(data: bytes, start: int, stop: int) -> Event:
    """Take the record in data[start:stop] apart; raises MalformedError where it is none."""
    event = Event()
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == FIXED64:
            event.wall_at = begin
        elif number == 2 and wire == VARINT:
            event.step_at, event.step_end = begin, end
        elif number == 5 and wire == BYTES:
            for inner, inner_wire, value_begin, value_end in fields(data, begin, end):
                if inner == 1 and inner_wire == BYTES:
                    _parse_value(data, value_begin, value_end, event)
        elif number == 3 and wire == BYTES:
            event.version = data.startswith(b"brain.Event:", begin, end)
        else:
            event.rich = True
    return event


def _parse_value(data: bytes, start: int, stop: int, event: Event) -> None:
    tag_at = tag_end = start
    plugin, content = "", b""
    point: Point | None = None
    texts: list[str] | None = None
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            tag_at, tag_end = begin, end
        elif number == 2 and wire == FIXED32:
            point = Point(0, 0, begin, "<f4")
        elif number == 8 and wire == BYTES:
            point, texts = _parse_tensor(data, begin, end)
        elif number == 9 and wire == BYTES:
            plugin, content = _parse_metadata(data, begin, end)
        elif number != 7:  # 7 is the name of a graph node
            event.rich = True
    if texts is not None or plugin == "hparams":
        event.notes.append(Note(text(data, tag_at, tag_end), plugin, content, texts or []))
    elif point is not None:
        point.tag_at, point.tag_end = tag_at, tag_end
        event.points.append(point)
    else:
        event.rich = True


def _parse_metadata(data: bytes, start: int, stop: int) -> tuple[str, bytes]:
    plugin, content = "", b""
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            for inner, inner_wire, inner_begin, inner_end in fields(data, begin, end):
                if inner == 1 and inner_wire == BYTES:
                    plugin = text(data, inner_begin, inner_end)
                elif inner == 2 and inner_wire == BYTES:
                    content = data[inner_begin:inner_end]
    return plugin, content


def _parse_tensor(data: bytes, start: int, stop: int) -> tuple[Point | None, list[str] | None]:
    """A tensor of one number as a point, one of strings as texts; anything larger is neither."""
    kind = 0
    size = 1
    found: list[Point] = []
    texts: list[str] = []
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == VARINT:
            kind = varint(data, begin, end)[0]
        elif number == 2 and wire == BYTES:
            size = _elements(data, begin, end)
        elif number == 8:
            if wire == BYTES and len(texts) < 1000:
                texts.append(text(data, begin, end))
        elif number == 4 and wire == BYTES:
            found.extend(_raw(kind, data, begin, end))
        else:
            found.extend(_listed(number, wire, kind, data, begin, end, 2 - len(found)))
        if len(found) > 1 or (size > 1 and kind != _STRING):
            return None, None
    if kind == _STRING:
        return None, texts
    if not found and size == 1 and kind in _DTYPES:
        found = [Point(0, 0, value=0.0)]  # a tensor of zeros may leave its content out
    return (found[0] if found else None), None


def _listed(number: int, wire: int, kind: int, data: bytes, begin: int, end: int, most: int) -> list[Point]:
    """The points in a field that lists a tensor's numbers; where they are of varying length, only the first `most`."""
    if number in _REPEATED_FIXED and wire in (BYTES, FIXED32, FIXED64):
        return _numbers(_REPEATED_FIXED[number], begin, end)
    points: list[Point] = []
    if (number in _REPEATED_VARINTS or number == _HALF_VAL) and wire in (BYTES, VARINT):
        while begin < end and len(points) < most:
            value, begin = varint(data, begin, end)
            points.append(Point(0, 0, value=_half(kind, value) if number == _HALF_VAL else float(signed(value))))
    return points


def _raw(kind: int, data: bytes, begin: int, end: int) -> list[Point]:
    """The points in a tensor's raw content."""
    if kind == _BFLOAT16 and end - begin == 2:
        return [Point(0, 0, value=_half(kind, int.from_bytes(data[begin:end], "little")))]
    return _numbers(_DTYPES[kind], begin, end) if kind in _DTYPES else []


def _numbers(dtype: str, begin: int, end: int) -> list[Point]:
    """One point where exactly one number lies here; two, which is as good as many, where there are more."""
    return [Point(0, 0, begin, dtype)] * min((end - begin) // np.dtype(dtype).itemsize, 2)


def _half(kind: int, bits: int) -> float:
    if kind == _BFLOAT16:  # the upper half of a float32
        return float(np.array([bits << 16 & 0xFFFFFFFF], dtype=np.uint32).view(np.float32)[0])
    return float(np.array([bits & 0xFFFF], dtype=np.uint16).view(np.float16)[0])


def _elements(data: bytes, start: int, stop: int) -> int:
    """How many numbers a tensor of this shape has."""
    count = 1
    for number, wire, begin, end in fields(data, start, stop):
        if number == 2 and wire == BYTES:
            size = 0
            for inner, inner_wire, inner_begin, inner_end in fields(data, begin, end):
                if inner == 1 and inner_wire == VARINT:
                    size = signed(varint(data, inner_begin, inner_end)[0])
            count *= size
    return count


def hparams_of(content: bytes) -> dict[str, Any]:
    """The settings in the hparams plugin's session_start_info."""
    settings: dict[str, Any] = {}
    for number, wire, begin, end in fields(content, 0, len(content)):
        if number != 3 or wire != BYTES:
            continue
        for inner, inner_wire, entry_begin, entry_end in fields(content, begin, end):
            if inner == 1 and inner_wire == BYTES:
                name, value = _entry(content, entry_begin, entry_end)
                settings[name] = value
    return settings


def _entry(data: bytes, start: int, stop: int) -> tuple[str, Any]:
    """One entry of a map<string, google.protobuf.Value>."""
    name = ""
    value: str | float | None = None
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            name = text(data, begin, end)
        elif number == 2 and wire == BYTES:
            for kind, kind_wire, at, after in fields(data, begin, end):
                if kind == 2 and kind_wire == FIXED64:
                    number_value = double(data, at)
                    value = int(number_value) if number_value.is_integer() else number_value
                elif kind == 3 and kind_wire == BYTES:
                    value = text(data, at, after)
                elif kind == 4 and kind_wire == VARINT:
                    value = bool(varint(data, at, after)[0])
    return name, value
