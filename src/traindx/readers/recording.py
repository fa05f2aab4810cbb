"""Recordings of traindx itself: NAME.traindx directories with a file of JSON lines for each rank."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from traindx.readers.base import CERTAIN, Bundle, Reader
from traindx.readers.build import RunBuilder
from traindx.readers.source import Source
from traindx.run import Event, EventKind, Fact, Run, flatten

_FIRST = '"schema": "traindx.recording/'


def sniff(source: Source) -> float:
    return CERTAIN if _FIRST.encode() in source.head[:600] else 0.0


def claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    """Each directory with a first rank's file is one run; what else lies in it (saved batches) belongs to it."""
    mains = [path for path in files if path.name == "rank-0.jsonl"]
    return [Bundle(main, frozenset(path for path in files if main.parent in path.parents)) for main in mains]


def read(source: Source) -> list[Run]:
    builder = RunBuilder(
        str(source.path.parent if source.path.name.startswith("rank-") else source.name), "recording", one_run=True
    )
    facts: dict[str, Fact] = {}
    damaged = 0
    for line in source.lines():
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except ValueError:
            damaged += 1
            continue
        if isinstance(entry, dict):
            _take(entry, builder, facts)
    if damaged:
        builder.lost.append(
            f"{damaged} line{'s' if damaged > 1 else ''} of the recording could not be read (cut off while writing)."
        )
    runs = builder.finish()
    for run in runs:
        run.facts = facts
    return runs


def _take(entry: dict[str, Any], builder: RunBuilder, facts: dict[str, Fact]) -> None:
    kind = entry.get("k")
    if kind == "rows":
        names = entry.get("names", [])
        for row in entry.get("rows", []):
            builder.row(dict(zip(names, row[1:], strict=False)), step=row[0])
    elif kind == "fact":
        facts[entry["id"]] = Fact(
            entry["id"], bool(entry["present"]), str(entry["evidence"]), entry.get("where"), entry.get("step"),
            float(entry.get("clarity", 1.0)),
        )  # fmt: skip
    elif kind == "event" and entry.get("event") in get_args(EventKind):
        builder.events.append(Event(entry["event"], str(entry.get("text", "")), entry.get("step")))
    elif kind == "config":
        builder.config.update(flatten({key: value for key, value in entry.items() if key != "k"}))
    elif kind == "cost":
        builder.config["recording.cost"] = entry.get("share")
    elif kind == "meta":
        builder.config["recording.script"] = (entry.get("argv") or [""])[0]


READER = Reader("recording", "traindx recording", sniff, read, claim)
