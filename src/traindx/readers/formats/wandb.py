"""W&B runs, from the binary .wandb file or from what lies beside it, without wandb installed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Literal

from traindx.errors import TraindxError
from traindx.readers.base import CERTAIN, LIKELY, Bundle, Reader
from traindx.readers.binary.wandb_datastore import Datastore
from traindx.readers.binary.wandb_record import RunFacts, of_this_run, take_record
from traindx.readers.binary.wire import MalformedError
from traindx.readers.build import RunBuilder
from traindx.readers.formats.wandb_files import (
    CONFIG,
    CONSOLE,
    HISTORY,
    SUMMARY,
    bundles,
    home_of,
    is_home,
    is_store,
    stores_of,
)
from traindx.readers.reach import may_read, open_file
from traindx.readers.settings import load_settings
from traindx.readers.source import MemorySource, Source
from traindx.readers.tables.tracker_rows import Row, feed_rows, feed_samples, numbers_in
from traindx.readers.version_files import frozen_in
from traindx.run import Event, Run, flatten
from traindx.versions import as_settings, known_versions

_KILLED = (128 + 9, 128 + 15, -9, -15)  # exit codes after SIGKILL and SIGTERM


def _sniff(source: Source) -> float:
    if is_store(source) or (source.path.name in (CONSOLE, HISTORY) and source.is_text and is_home(source.path.parent)):
        return CERTAIN
    return LIKELY if source.path.name == SUMMARY and b'"_runtime"' in source.head else 0.0


def _claim(folder: Path, files: Sequence[Path]) -> list[Bundle]:
    return bundles(files)


def _read(source: Source) -> list[Run]:
    builder = RunBuilder(source.name, "wandb", one_run=True)
    facts = RunFacts()
    stores = stores_of(source.path)
    steps, times = feed_rows(_rows(stores, facts, builder, source), builder)
    home = home_of(stores[-1] if stores else source.path)
    if not len(builder):
        steps, times = feed_rows(_old_rows(home / HISTORY, builder), builder)
    feed_samples(of_this_run(facts.stats), steps, times, builder)
    builder.config.update(load_settings(home / CONFIG))
    builder.config.update(flatten(facts.config))
    console = _console(home, facts)
    builder.config.update(as_settings(frozen_in(home)))
    for run in console:
        builder.config.update(as_settings(known_versions(run.config)))
        builder.said = run.said
    stated = [event for run in console for event in run.events if event.kind != "restart"]
    builder.events.extend(Event("warning", alert) for alert in facts.alerts)
    if facts.exit_code is not None and not any(event.kind in ("traceback", "oom", "killed") for event in stated):
        builder.events.append(_ending(facts.exit_code))
    if not len(builder) and any(run.points for run in console):
        return _adopted(console, builder, facts)
    builder.events[:0] = stated
    if not len(builder):
        feed_rows(_summary(home, facts), builder)
    if not len(builder) and not builder.events:
        raise TraindxError(
            f"{source.name} belongs to a W&B run without a logged metric, a summary or console output.",
            "Check that the run logged something and that its .wandb file was copied completely.",
        )
    runs = builder.finish()
    for run in runs:
        run.name = _name(facts)
    return runs


def _rows(stores: Sequence[Path], facts: RunFacts, builder: RunBuilder, source: Source) -> Iterator[Row]:
    total = sum(path.stat().st_size for path in stores)
    done = 0
    for path in stores:
        unreadable = 0
        with Source(path).open() as raw:
            store = Datastore(raw)
            for record in store:
                try:
                    row = take_record(record, facts)
                except MalformedError:
                    unreadable += 1
                    continue
                if row is not None and row.values:
                    yield row
                if source.progress and facts.rows % 1000 == 0:
                    source.progress(min(done + store.done, total), total)
        done += store.done
        if store.damaged or unreadable:
            places = store.damaged + unreadable
            builder.lost.append(f"{path.name}: {places:,} damaged places; the records in them were left out.")
        if store.unpacking_failed:
            builder.lost.append(f"{path.name}: the compressed file is damaged or cut off; what comes after is lost.")
        elif store.cut:
            builder.lost.append(f"{path.name}: ends in the middle of a record, which was not read.")


def _old_rows(path: Path, builder: RunBuilder) -> Iterator[Row]:
    """The rows of releases before 0.10, which kept them as lines of JSON."""
    bad = 0
    for line in Source(path).lines() if path.is_file() else ():
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict):
            bad += bool(line.strip())
            continue
        row = _row({name: value for key, item in found.items() for name, value in numbers_in(key, item)})
        if row.values:
            yield row
    if bad:
        builder.lost.append(f"{path.name}: {bad:,} damaged lines were left out.")


def _row(values: Mapping[str, float]) -> Row:
    logged = {name: value for name, value in values.items() if not name.startswith("_")}
    return Row(logged, values.get("_step"), values.get("_timestamp"))


def _summary(home: Path, facts: RunFacts) -> Iterator[Row]:
    """The last values of a run whose rows were not kept."""
    values = dict(facts.summary)
    if not values:
        try:
            with open_file(home / SUMMARY) as file:
                found = json.load(file)
        except (OSError, ValueError, RecursionError):
            found = None
        if isinstance(found, dict):
            values = {name: value for key, item in found.items() for name, value in numbers_in(key, item)}
    row = _row(values)
    if row.values:
        yield row


def _console(home: Path, facts: RunFacts) -> list[Run]:
    """What the text readers make of the run's console output."""
    from traindx.readers.find import candidates  # it knows all readers, this one among them

    path = home / CONSOLE
    output = "".join(facts.output).encode(errors="replace")
    source = Source(path) if path.is_file() and may_read(path) else MemorySource(output, path, str(path))
    for _, reader in candidates(source) if source.size else ():
        if reader.name != READER.name:
            try:
                runs = reader.read(source)
            except TraindxError:
                continue
            if any(run.points or run.events for run in runs):
                return runs
    return []


def _adopted(runs: list[Run], builder: RunBuilder, facts: RunFacts) -> list[Run]:
    """Runs that were found in the console output, with what W&B knows about them."""
    for run in runs:
        run.source, run.format, run.name = builder.source, builder.format, run.name or _name(facts)
        run.config.update(builder.config)
        run.lost[:0] = builder.lost
    runs[-1].events.extend(builder.events)
    return runs


def _ending(code: int) -> Event:
    if code == 0:
        return Event("finished", "W&B recorded that the run finished (exit code 0)")
    kind: Literal["killed", "traceback"] = "killed" if code in _KILLED else "traceback"
    return Event(kind, f"W&B recorded that the run ended with exit code {code}")


def _name(facts: RunFacts) -> str:
    return "/".join(part for part in (facts.project, facts.name) if part)


READER = Reader("wandb", "W&B run directory or .wandb file", _sniff, _read, _claim)
