"""A run as a file of JSON lines: the first says what it is, each further one holds a stretch of a series or a
measurement.

Every line stands for itself and is checked when it is read: what is damaged is left out and counted.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, replace
from typing import Any

import msgspec
import numpy as np

from traindx.errors import TraindxError
from traindx.meaning import Meaning
from traindx.measurements import Measured, as_line, from_line
from traindx.run import Axis, Event, Fact, Run, Series

SCHEMA = "traindx.run/1"
VALUES_A_LINE = 2000  # readers skip lines that are too long to be one


class _Head(msgspec.Struct):
    """What is known of a run besides its numbers."""

    schema: str
    source: str
    format: str
    name: str = ""
    config: dict[str, Any] = msgspec.field(default_factory=dict)
    events: list[Event] = msgspec.field(default_factory=list)
    facts: list[Fact] = msgspec.field(default_factory=list)
    lost: list[str] = msgspec.field(default_factory=list)
    last_lines: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    copies: list[str] = msgspec.field(default_factory=list)


class _Stretch(msgspec.Struct):
    """Values of one series that follow those of the line before."""

    series: str
    meaning: Meaning
    axis: Axis
    steps: list[float]
    values: list[float]
    times: list[float] | None = None


def lines_of(run: Run) -> Iterator[str]:
    """The lines of the file."""
    head = _Head(
        SCHEMA, run.source, run.format, run.name, run.config, run.events, list(run.facts.values()), run.lost,
        run.last_lines, run.said, run.copies,
    )  # fmt: skip
    yield json.dumps(msgspec.to_builtins(head), default=str)
    for name, series in run.series.items():
        for start in range(0, max(1, len(series)), VALUES_A_LINE):
            part = slice(start, start + VALUES_A_LINE)
            yield json.dumps(
                {
                    "series": name,
                    "meaning": asdict(series.meaning),
                    "axis": series.axis,
                    "steps": series.steps[part].tolist(),
                    "values": series.values[part].tolist(),
                    "times": None if series.times is None else series.times[part].tolist(),
                }
            )
    for measured in run.measured:
        for one in measured:
            yield json.dumps({"rank": measured.rank, **as_line(one, one.step)})
    for measured in run.probed:
        yield json.dumps({"probe": measured.probe, "measured": [as_line(one, one.step) for one in measured]})


def run_of(lines: Iterable[str], name: str) -> Run:
    """The run in the lines of a file of this name."""
    given = iter(lines)
    try:
        head = msgspec.convert(json.loads(next(given, "")), _Head)
    except (ValueError, msgspec.ValidationError) as error:
        raise TraindxError(f"{name} is no run that traindx saved: {error}.", "Save one with Run.save(path).") from error
    run = Run(
        head.source, head.format, head.name, config=head.config, events=head.events,
        facts={fact.id: fact for fact in head.facts}, lost=head.lost, last_lines=head.last_lines, said=head.said,
        copies=head.copies,
    )  # fmt: skip
    stretches: dict[str, list[_Stretch]] = {}
    ranks: dict[int, Measured] = {}
    probed: list[Measured] = []
    damaged = 0
    for line in given:
        try:
            _take(json.loads(line), stretches, ranks, probed)
        except (ValueError, TypeError, AttributeError, msgspec.ValidationError):
            damaged += bool(line.strip())
    run.series = {name: _joined(parts) for name, parts in stretches.items()}
    run.measured = list(ranks.values())
    run.probed = probed
    if damaged:
        run.lost = [*run.lost, f"{damaged} line{'s' if damaged > 1 else ''} of the saved run could not be read."]
    return run


def _take(
    entry: dict[str, Any], stretches: dict[str, list[_Stretch]], ranks: dict[int, Measured], probed: list[Measured]
) -> None:
    if "series" in entry:
        found = msgspec.convert(entry, _Stretch)
        if len(found.steps) != len(found.values) or (found.times is not None and len(found.times) != len(found.values)):
            raise ValueError("steps and values do not fit each other")
        stretches.setdefault(found.series, []).append(found)
        return
    if "probe" in entry:
        probed.append(Measured(filter(None, map(from_line, entry["measured"])), probe=str(entry["probe"])))
        return
    rank = int(entry.pop("rank"))
    measurement = from_line(entry)
    if measurement is not None:
        ranks.setdefault(rank, Measured(rank=rank)).add(measurement)


def _joined(parts: list[_Stretch]) -> Series:
    first = parts[0]
    series = Series(
        first.series, first.meaning, np.array([step for one in parts for step in one.steps], float),
        np.array([value for one in parts for value in one.values], float), first.axis,
    )  # fmt: skip
    if any(one.times is None for one in parts):
        return series
    return replace(series, times=np.array([time for one in parts for time in one.times or ()], float))
