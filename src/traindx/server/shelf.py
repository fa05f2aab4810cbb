"""All runs below a directory: found at once, looked at in the background, looked at again when their files change."""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.executors import Executor, Lost, executor_for
from traindx.readers.units import Unit, runs_of, units_in
from traindx.reporters.html.plots import Plots, plots_of, plots_of_curves
from traindx.reporters.wording import clean
from traindx.run import Run
from traindx.server.cards import WAITING_ORDER, Card, look

LIVE_SECONDS = 30.0  # a run whose files changed this recently and that has not ended is in progress
PAUSE_SECONDS = 1.0
SHARE_OF_CORE = 0.1  # looking again and again must not disturb the trainings it watches
KEPT_OPEN = 6  # runs kept in memory with all their numbers
REST = 5.0  # times as long as it took, before a run is looked at again
Mark = tuple[tuple[int, int], ...]


@dataclass
class Entry:
    """One unit of files: `cards` is None until it has been looked at."""

    unit: Unit
    mark: Mark
    changed: float  # when its files last changed, in seconds since the epoch
    cards: list[Card] | None = None
    problems: list[str] = field(default_factory=list)
    due: bool = True  # its files changed since it was looked at
    not_before: float = 0.0  # a long run is looked at again after a rest in proportion


@dataclass(frozen=True)
class Opened:
    """A run with all its numbers, its diagnosis and what is drawn of it."""

    run: Run
    diagnosis: Diagnosis
    plots: Plots
    mark: Mark
    live: bool


class Shelf:
    """`version` grows with every change, so that a page can ask whether anything is new."""

    def __init__(self, folder: Path, executor: Executor | None = None, clock: Callable[[], float] = time.time) -> None:
        self.folder = folder
        self.version = 0
        self._clock = clock
        self._executor = executor or executor_for("local", workers=max(2, (os.cpu_count() or 2) // 2))
        self._entries: dict[str, Entry] = {}
        self._lock = threading.Lock()
        self._opening = threading.Lock()
        self._open: OrderedDict[str, Opened] = OrderedDict()
        self._rest: dict[str, float] = {}  # until when an open run that grows is shown as it was
        self._stopped = threading.Event()
        self._thread: threading.Thread | None = None
        self.discover()

    def start(self) -> None:
        self._thread = threading.Thread(target=self._work, name="traindx-shelf", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(timeout=5)

    def _work(self) -> None:
        while not self._stopped.is_set():
            began = time.process_time()
            self.discover()
            self.look_again()
            spent = time.process_time() - began
            self._stopped.wait(max(PAUSE_SECONDS, spent * (1 / SHARE_OF_CORE - 1) if not self.waiting else 0))

    def discover(self) -> None:
        """Which units there are and which of them changed, without opening any file."""
        try:
            units = units_in([self.folder])
        except TraindxError:  # the directory is gone for now
            units = []
        with self._lock:
            gone = set(self._entries) - {unit.label for unit in units}
            for label in gone:
                del self._entries[label]
            self.version += bool(gone)
            for unit in units:
                mark, changed = _mark(unit)
                entry = self._entries.get(unit.label)
                if entry is None:
                    self._entries[unit.label] = Entry(unit, mark, changed)
                    self.version += 1
                elif entry.mark != mark:
                    entry.unit, entry.mark, entry.changed, entry.due = unit, mark, changed, True

    def look_again(self) -> None:
        """Look at every unit that is new or changed, the latest first; each is shown as soon as it is known."""
        with self._lock:
            now = self._clock()
            due = [entry for entry in self._entries.values() if entry.due and now >= entry.not_before]
            for entry in due:
                entry.due = False  # a change from here on makes it due again
        due.sort(key=lambda entry: -entry.changed)
        began = time.monotonic()
        for place, result in self._executor.map(look, [entry.unit for entry in due]):
            entry = due[place]
            with self._lock:
                if isinstance(result, Lost):
                    entry.cards, entry.problems = [], [f"{entry.unit.label}: {result.reason}."]
                else:
                    entry.cards, entry.problems = result
                took = time.monotonic() - began
                entry.not_before = self._clock() + took / len(due) * REST
                self.version += 1
            if self._stopped.is_set():
                return

    @property
    def waiting(self) -> int:
        """How many units nobody has looked at yet."""
        with self._lock:
            return sum(entry.cards is None for entry in self._entries.values())

    def rows(self) -> list[dict[str, Any]]:
        """Every run as the table shows it, those that need attention first."""
        folder = f"{clean(str(self.folder))}/"
        rows: list[dict[str, Any]] = []
        with self._lock:
            for entry in self._entries.values():
                if entry.cards is None:
                    name = clean(entry.unit.label).removeprefix(folder)
                    rows.append(
                        {"id": "", "name": name, "verdict": "waiting", "order": WAITING_ORDER, "changed": entry.changed}
                    )
                else:
                    rows += [card.data(self._is_live(entry, card), entry.changed, folder) for card in entry.cards]
        return sorted(rows, key=lambda row: (row["order"], -row["changed"], row["name"]))

    def problems(self) -> list[str]:
        with self._lock:
            return [problem for entry in self._entries.values() for problem in entry.problems]

    def identifiers(self) -> dict[tuple[str, str], str]:
        """The run's page by where it lies, in full, and what it is called there."""
        with self._lock:
            cards = [card for entry in self._entries.values() for card in entry.cards or ()]
        return {(os.path.abspath(card.summary.source), card.summary.name): card.id for card in cards}

    def card(self, identifier: str) -> Card | None:
        found = self._find(identifier)
        return found[1] if found is not None else None

    def open(self, identifier: str) -> Opened | None:
        """The run with everything, read anew when its files changed; None where there is no such run any more."""
        found = self._find(identifier)
        if found is None:
            return None
        entry, card = found
        mark, _ = _mark(entry.unit)
        live = self._is_live(entry, card)
        with self._opening:  # two requests for one long run read it once
            kept = self._open.get(identifier)
            due = kept is None or (kept.mark != mark and time.monotonic() >= self._rest.get(identifier, 0.0))
            if kept is None or due:
                began = time.monotonic()
                runs, _ = runs_of(entry.unit)
                if card.place >= len(runs):
                    return None
                run = runs[card.place]
                diagnosis = diagnose(run)
                plots = plots_of(run, diagnosis) if run.series else plots_of_curves(diagnosis)
                kept = Opened(run, diagnosis, plots, mark, live)
                self._open[identifier] = kept
                self._rest[identifier] = time.monotonic() + (time.monotonic() - began) * REST
            self._open.move_to_end(identifier)
            while len(self._open) > KEPT_OPEN:
                self._open.popitem(last=False)
        return Opened(kept.run, kept.diagnosis, kept.plots, kept.mark, live)

    def _find(self, identifier: str) -> tuple[Entry, Card] | None:
        with self._lock:
            for entry in self._entries.values():
                for card in entry.cards or ():
                    if card.id == identifier:
                        return entry, card
        return None

    def _is_live(self, entry: Entry, card: Card) -> bool:
        return not card.ended and self._clock() - entry.changed < LIVE_SECONDS


def _mark(unit: Unit) -> tuple[Mark, float]:
    """Sizes and times of a unit's files, and the latest of the times."""
    found = []
    for path in unit.files:
        try:
            status = os.stat(path)
        except OSError:  # deleted between listing and looking
            continue
        found.append((status.st_size, status.st_mtime_ns))
    return tuple(found), max((time_ns for _, time_ns in found), default=0) / 1e9
