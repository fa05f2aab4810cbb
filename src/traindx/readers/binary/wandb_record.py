"""What the records of a .wandb file say. Field numbers are those of wandb's wandb_internal.proto."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from traindx.readers.binary.wire import BYTES, FIXED64, VARINT, double, fields, signed, text, varint
from traindx.readers.tables.tracker_rows import Row, Sample, numbers_in

_HISTORY, _SUMMARY, _OUTPUT, _CONFIG, _MONITOR, _ALERT, _OUTPUT_RAW, _RUN, _EXIT = 2, 3, 4, 5, 7, 10, 13, 17, 18
_NESTED_KEY, _VALUE_JSON = 0x12, b"\x82\x01"  # fields 2 and 16 of an item, as they stand in the bytes
_MAX_OUTPUT = 1 << 24  # characters of console output kept
# of the system monitor: how busy the GPUs are, and memory; it also counts every disk, network and fan
_STATS = re.compile(r"gpu\.(process\.)?\d+\.(gpu|memoryAllocatedBytes)|proc\.memory\.rssMB")
_OF_MACHINE = re.compile(r"system/gpu/(\d+)/")


@dataclass
class RunFacts:
    """Everything in the file but the rows."""

    name: str = ""
    project: str = ""
    config: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, float] = field(default_factory=dict)
    stats: list[Sample] = field(default_factory=list)
    output: deque[str] = field(default_factory=deque)  # the end of what went to the console
    output_length: int = 0
    rows: int = 0
    alerts: list[str] = field(default_factory=list)
    exit_code: int | None = None


def of_this_run(samples: Sequence[Sample]) -> Iterator[Sample]:
    """The samples without those of GPUs that may belong to somebody else: the monitor watches all GPUs of a machine,
    so its numbers are the run's own only where there is one, or where it tells them apart by process."""
    names = {name for sample in samples for name in sample.values}
    devices = {match.group(1) for name in names if (match := _OF_MACHINE.match(name))}
    shared = len(devices) > 1 or any(name.startswith("system/gpu/process/") for name in names)
    for sample in samples:
        kept = {name: value for name, value in sample.values.items() if not (shared and _OF_MACHINE.match(name))}
        yield Sample(sample.time, kept)


def take_record(data: bytes, facts: RunFacts) -> Row | None:
    """The row in this record, or None after noting in `facts` whatever else it says. Raises MalformedError."""
    for number, wire, begin, end in fields(data, 0, len(data)):
        if wire != BYTES:
            continue
        if number == _HISTORY:
            facts.rows += 1
            return _row(data, begin, end)
        take = _TAKERS.get(number)
        if take is not None:
            take(data, begin, end, facts)
    return None


def _row(data: bytes, start: int, stop: int) -> Row:
    step: float | None = None
    values: dict[str, float] = {}
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            _take_number(data, begin, end, values)
        elif number == 2 and wire == BYTES:
            step = _first_integer(data, begin, end)
    # wandb writes the items of a row in random order
    logged = {name: values[name] for name in sorted(values) if not name.startswith("_")}
    return Row(logged, values.get("_step", step), values.get("_timestamp"))


def _first_integer(data: bytes, start: int, stop: int) -> int:
    """The integer in field 1 of a message; a zero may be left out."""
    found = 0
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == VARINT:
            found = signed(varint(data, begin, end)[0])
    return found


def _take_number(data: bytes, start: int, stop: int, values: dict[str, float]) -> None:
    name, plain, found = _plain_item(data, start, stop) or _item(data, start, stop)
    if plain is not None:
        values[name] = plain
    elif found:
        try:
            values[name] = float(found)  # most are plain numbers; this also takes NaN and Infinity
        except ValueError:
            values.update(numbers_in(name, _decoded(found)))


def _plain_item(data: bytes, start: int, stop: int) -> tuple[str, None, bytes] | None:
    """A short cut for the shape that nearly all items have: one nested_key, then value_json, both under 128 bytes."""
    if start + 2 > stop or data[start] != _NESTED_KEY or data[start + 1] > 0x7F:
        return None
    middle = start + 2 + data[start + 1]
    if middle + 3 > stop or data[middle : middle + 2] != _VALUE_JSON or middle + 3 + data[middle + 2] != stop:
        return None
    return text(data, start + 2, middle), None, data[middle + 3 : stop]


def _item(data: bytes, start: int, stop: int) -> tuple[str, float | None, bytes]:
    """Name, number and JSON text of a history, summary, config or stats item; one of the latter two is empty."""
    name, found = "", b""
    nested: list[str] = []
    plain: float | None = None
    for number, wire, begin, end in fields(data, start, stop):
        if wire == BYTES:
            if number == 1:
                name = text(data, begin, end)
            elif number == 2:
                nested.append(text(data, begin, end))
            elif number in (8, 16):
                found = data[begin:end]
        elif number == 6 and wire == FIXED64:
            plain = double(data, begin)
        elif number == 5 and wire == VARINT:
            zigzag = varint(data, begin, end)[0]
            plain = float((zigzag >> 1) ^ -(zigzag & 1))
    return name or ".".join(nested), plain, found


def _decoded(found: bytes) -> Any:
    try:
        return json.loads(found)
    except (ValueError, RecursionError):
        return None


def _take_summary(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    if facts.rows:  # it repeats the rows, and is wanted only where there are none
        return
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            _take_number(data, begin, end, facts.summary)


def _take_config(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    for number, wire, begin, end in fields(data, start, stop):
        if number == 1 and wire == BYTES:
            name, _, found = _item(data, begin, end)
            if not name.startswith("_"):
                facts.config[name] = _decoded(found)


def _take_stat(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    seconds = nanoseconds = 0
    values: dict[str, float] = {}
    for number, wire, begin, end in fields(data, start, stop):
        if number == 2 and wire == BYTES:
            for inner, inner_wire, at, after in fields(data, begin, end):
                if inner_wire == VARINT:
                    value = varint(data, at, after)[0]
                    seconds, nanoseconds = (value, nanoseconds) if inner == 1 else (seconds, value)
        elif number == 3 and wire == BYTES:
            _take_number(data, begin, end, values)
    kept = {f"system/{name.replace('.', '/')}": value for name, value in values.items() if _STATS.fullmatch(name)}
    facts.stats.append(Sample(seconds + nanoseconds / 1e9, kept))


def _take_output(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    for number, wire, begin, end in fields(data, start, stop):
        if number == 3 and wire == BYTES:
            facts.output.append(text(data, begin, end))
            facts.output_length += len(facts.output[-1])
            while facts.output_length > _MAX_OUTPUT:
                facts.output_length -= len(facts.output.popleft())


def _take_run(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    for number, wire, begin, end in fields(data, start, stop):
        if wire != BYTES:
            continue
        if number == 3:
            facts.project = text(data, begin, end)
        elif number == 4:
            _take_config(data, begin, end, facts)
        elif number == 8:
            facts.name = text(data, begin, end)


def _take_alert(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    parts = {number: text(data, begin, end) for number, _, begin, end in fields(data, start, stop)}
    facts.alerts.append(": ".join(parts[part] for part in (1, 2) if parts.get(part)))


def _take_exit(data: bytes, start: int, stop: int, facts: RunFacts) -> None:
    facts.exit_code = _first_integer(data, start, stop)


_TAKERS: dict[int, Callable[[bytes, int, int, RunFacts], None]] = {
    _SUMMARY: _take_summary, _CONFIG: _take_config, _MONITOR: _take_stat, _OUTPUT: _take_output,
    _OUTPUT_RAW: _take_output, _RUN: _take_run, _ALERT: _take_alert, _EXIT: _take_exit,
}  # fmt: skip
