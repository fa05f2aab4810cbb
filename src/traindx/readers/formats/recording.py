"""Recordings of traindx itself: NAME.traindx directories with a file of JSON lines for each rank."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, get_args

from traindx.measurements import LINE, Measured, from_line
from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.liveness import may_be_running
from traindx.readers.reach import may_read
from traindx.readers.recorded_lines import checked_line
from traindx.readers.recorded_rows import NAMES, ROWS, RecordedRows
from traindx.readers.source import Source
from traindx.readers.text.printed import added, printed_series
from traindx.run import CRASHES, PROBES, Event, EventKind, Fact, Run, flatten
from traindx.versions import as_settings, canonical, is_version

_FIRST = '"schema": "traindx.recording/'
_RANK = re.compile(r"rank-(\d{1,6})\.jsonl")


@dataclass(slots=True)
class _Rank:
    """What one rank of a training has to say beside its series and measurements."""

    number: int
    meta: dict[str, Any] = field(default_factory=dict)
    facts: dict[str, Fact] = field(default_factory=dict)
    probed: list[Measured] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    printed: list[tuple[float, str]] = field(default_factory=list)  # lines, with the updates made before each


def sniff(source: Source) -> float:
    return CERTAIN if _FIRST.encode() in source.head[:600] else 0.0


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    """Each directory with files of ranks is one run, read through the first; what else lies in it (saved batches)
    belongs to it, but for the trainings that ran beside it, which have directories of their own."""
    mains: dict[Path, Path] = {}
    for _, path in sorted((rank, path) for path in files if (rank := _rank(path)) is not None):
        mains.setdefault(path.parent, path)
    of_folder: dict[Path, list[Path]] = {parent: [] for parent in mains}
    for path in files:
        owner = next((parent for parent in path.parents if parent in mains), None)
        if owner is not None:
            of_folder[owner].append(path)
    return [Bundle(main, frozenset(of_folder[parent])) for parent, main in mains.items()]


def read(source: Source) -> list[Run]:
    """One run, whatever the number of ranks: the first one's series, and what the others saw besides."""
    number = _rank(source.path)
    builder = RunBuilder(str(source.name if number is None else source.path.parent), "recording", one_run=True)
    first = _Rank(number or 0)
    measured = [Measured(rank=first.number)]
    facts = first.facts
    rows = RecordedRows()
    damaged, ended = _take_lines(source, first, measured[0], builder, rows)
    if not ended and not any(event.kind in CRASHES for event in builder.events):
        builder.events.extend(_without_end(first.meta, source.path))
    for rank, path in [] if number is None else _other_ranks(source.path):
        measured.append(Measured(rank=rank))
        _add(_other(path, rank, measured[-1]), builder, facts)
    world = first.meta.get("world") or 1
    if world > 1:
        builder.config["world_size"] = world
    if damaged:
        builder.lost.append(
            f"{damaged} line{'s' if damaged > 1 else ''} of the recording could not be read (damaged, or cut off while "
            "writing)."
        )
    runs = builder.finish()
    for run in runs:
        run.facts = facts
        run.probed = first.probed
        run.measured = measured
        run.series = rows.series()
        run.series |= added(run.series, printed_series(first.printed)) if first.printed else {}
        run.lost = rows.lost = [*run.lost, *rows.lost]  # what is decoded later may turn out to be damaged
    return runs


def measured_before_rows(folder: Path) -> Measured | None:
    """What the first rank measured in a training that has made no update; None where it has made one."""
    measured = Measured()
    path = next(iter(sorted(folder.glob("rank-*.jsonl"))), None)
    for line in path.read_text("utf-8", "replace").splitlines() if path is not None else ():
        if line.startswith(ROWS):
            return None
        with contextlib.suppress(ValueError):  # a damaged line
            _measured(checked_line(line), measured)
    return measured


def _take_lines(
    source: Source, first: _Rank, measured: Measured, builder: RunBuilder, rows: RecordedRows
) -> tuple[int, bool]:
    """Take in all lines of a rank; how many could not be read, and whether there is an end mark."""
    damaged, ended = 0, False
    for line in source.lines():
        if not line.strip():
            continue
        if line.startswith(ROWS):
            damaged += not rows.take(line)
            continue
        try:
            entry = checked_line(line)
            _measured(entry, measured)
            first.probed += _probed(entry)
            _take(entry, builder, first.facts, rows)
        except ValueError:
            damaged += 1
            continue
        first.meta = entry if entry["k"] == "meta" else first.meta
        if entry["k"] == "printed":
            first.printed.append((entry["step"], entry["text"]))
        ended = ended or entry["k"] == "end"
    return damaged, ended


def _measured(entry: dict[str, Any], measured: Measured) -> None:
    """Take in a measurement, if the line is one. A ValueError where it is damaged."""
    found = from_line(entry) if entry["k"] == LINE else None
    if found is not None:
        measured.add(found)


def _probed(entry: dict[str, Any]) -> list[Measured]:
    """What a probe measured, if the line says so. A ValueError where it is damaged."""
    if entry["k"] != "probed":
        return []
    found = (from_line(line) for line in entry["measured"])
    return [Measured(filter(None, found), probe=entry["probe"])]


def _take(entry: dict[str, Any], builder: RunBuilder, facts: dict[str, Fact], rows: RecordedRows) -> None:
    kind = entry.get("k")
    if kind == "names":
        rows.take_names(entry)
    elif kind == "fact":
        fact = _fact(entry)
        before = facts.get(fact.id)
        # what a probe does not see at one moment takes nothing back, and the recorder that saw it all knows better
        outweighed = before is not None and (before.present or before.probe is None)
        if not (fact.probe and not fact.present and outweighed):
            facts[fact.id] = fact
    elif kind == "event" and entry.get("event") in get_args(EventKind):
        builder.events.append(Event(entry["event"], str(entry.get("text", "")), entry.get("step")))
    elif kind == "config":
        builder.config.update(flatten({key: value for key, value in entry.items() if key not in ("k", "probe")}))
    elif kind == "probe" and isinstance(reading := entry.get("reading"), dict):
        builder.config[PROBES] = ", ".join([*filter(None, [builder.config.get(PROBES)]), str(reading.get("probe"))])
    elif kind == "dropped":
        builder.lost.append(f"The disk was full while the training ran: {entry['lines']} lines were not recorded.")
    elif kind == "cost":
        builder.config["recording.cost"] = entry.get("share")
    elif kind == "meta":
        _take_meta(entry, builder)


def _take_meta(meta: dict[str, Any], builder: RunBuilder) -> None:
    builder.config["recording.script"] = (meta.get("argv") or [""])[0]
    if meta.get("script"):
        builder.config["recording.script_digest"] = str(meta["script"])
    builder.config["recording.world"] = meta.get("world")
    builder.config.update(as_settings(_versions(meta)))


def _versions(meta: dict[str, Any]) -> dict[str, str]:
    """Recordings made before all versions were noted tell the framework's own."""
    noted = meta.get("versions")
    if not isinstance(noted, dict):
        noted = {name: meta.get(name) for name in ("torch", "keras", "jax", "optax")}
    return {canonical(str(name)): text for name, text in noted.items() if isinstance(text, str) and is_version(text)}


def _fact(entry: dict[str, Any]) -> Fact:
    return Fact(
        entry["id"], bool(entry["present"]), str(entry["evidence"]), entry.get("where"), entry.get("step"),
        float(entry.get("clarity", 1.0)), entry.get("probe"),
    )  # fmt: skip


def _without_end(meta: dict[str, Any], path: Path) -> list[Event]:
    """What a recording without an end mark says of its process; nothing where that may still run, or was no
    training's."""
    if not meta.get("pid") or may_be_running(meta, path):
        return []
    return [Event("killed", "the recording stops without its end mark, so its process was killed")]


def _rank(path: Path) -> int | None:
    found = _RANK.fullmatch(path.name)
    return int(found.group(1)) if found else None


def _other_ranks(main: Path) -> list[tuple[int, Path]]:
    """The files of the other ranks, where this one is the first."""
    near = filter(may_read, main.parent.glob("rank-*.jsonl"))
    ranks = sorted((rank, path) for path in near if (rank := _rank(path)) is not None)
    return ranks[1:] if ranks and ranks[0][1] == main else []


def _other(path: Path, number: int, measured: Measured) -> _Rank:
    """What another rank has to say, without its series."""
    rank = _Rank(number)
    for line in Source(path).lines():
        if line.startswith((ROWS, NAMES)):
            continue
        try:
            entry = checked_line(line)
            _measured(entry, measured)
        except ValueError:
            continue
        if entry["k"] == "fact":
            rank.facts[entry["id"]] = _fact(entry)
        elif entry["k"] == "event" and entry.get("event") in CRASHES:
            rank.events.append(Event(entry["event"], f"rank {number}: {entry.get('text', '')}", entry.get("step")))
    return rank


def _add(other: _Rank, builder: RunBuilder, facts: dict[str, Fact]) -> None:
    """A fact counts on whatever rank it was seen; that others did not see it takes nothing back."""
    builder.events.extend(other.events)
    for fact in other.facts.values():
        before = facts.get(fact.id)
        if before is None or (fact.present and not before.present):
            facts[fact.id] = replace(fact, evidence=f"On rank {other.number}: {fact.evidence}")


READER = Reader("recording", "traindx recording", sniff, read, claim)
