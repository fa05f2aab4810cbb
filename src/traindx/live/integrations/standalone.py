"""The recording of a training that torch does not run: rows of numbers, settings and the end, straight into a store.

Under `traindx run` it takes the place of the recorder that waits for torch there, so that the status line, the alerts
and the page come from where they always do."""

from __future__ import annotations

import atexit
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.live.host.bootstrap import RECORD
from traindx.live.host.exceptions import before_uncaught, described
from traindx.live.host.saying import say
from traindx.live.outside.page import conclude, diagnosis_of
from traindx.live.recording.store import Store, fresh_folder, unused_folder
from traindx.live.recording.thinning import Thinning
from traindx.measurements import LINE, SCHEMA, Measurement, as_line
from traindx.readers.liveness import host_mark
from traindx.run import flatten
from traindx.secrets import hidden_arguments
from traindx.version import __version__
from traindx.versions import loaded

FIRST_LOOKS = 3  # the first steps are looked at closely whatever they cost


class Recording:
    """What a callback without torch holds. A disk that cannot be written costs one line, never the training."""

    def __init__(self, name: str, to: str | Path | None, budget: float, report: bool) -> None:
        self.name, self.to, self.budget, self.report = name, to, budget, report
        self.folder: Path | None = None
        self.last_words: Callable[[], None] = lambda: None  # called before the recording ends, however it does
        self.knows_cost = True  # all that recording costs is spent here
        self._mine = True  # not made for `traindx run`, which shows the page itself
        self._store: Store | None = None
        self._page: Diagnosis | None = None
        self._thinning = Thinning()
        self._undo: Callable[[], None] = lambda: None
        self._steps = 0
        self._began = self._spent = 0.0
        self._looks = 0

    @property
    def running(self) -> bool:
        return self._store is not None

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of the training, or of what there is of it so far."""
        if self._page is not None:
            return self._page
        if self.folder is None:
            raise TraindxError("Nothing was recorded: no training has begun.", "Train first.")
        if self._store is not None:
            self._store.flush()
        return diagnosis_of(self.folder)

    def begin(self, **about: Any) -> None:
        """The training begins; `about` says what runs it, with which version."""
        if self._store is not None:
            return
        asked = _place_of_the_launcher()
        self._mine = asked is None
        if asked is not None:
            self.folder = asked
        else:
            self.folder = fresh_folder(self.name, Path.cwd()) if self.to is None else unused_folder(Path(self.to))
        self._page, self._steps, self._looks, self._spent = None, 0, 0, 0.0
        self._thinning = Thinning()
        self._began = time.perf_counter()
        self._store = Store(self.folder)
        if self._store.broken:
            say(f"not recording: {self._store.broken}")
        self._store.line(
            "meta", schema=SCHEMA, traindx=__version__,
            argv=hidden_arguments(sys.argv), started=time.time(), rank=0, world=1,
            pid=os.getpid(), host=host_mark(), versions=loaded(), **about,
        )  # fmt: skip
        self._undo = before_uncaught(self._note)
        atexit.register(self.end, finished=False)

    @property
    def affordable(self) -> bool:
        """Whether a close look is within the budget now."""
        return self._looks < FIRST_LOOKS or self._spent < self.budget * (time.perf_counter() - self._began)

    @contextmanager
    def look(self) -> Iterator[None]:
        """Time spent on looking closely."""
        began = time.perf_counter()
        self._looks += 1
        try:
            yield
        finally:
            self._spent += time.perf_counter() - began

    def row(self, step: int, values: Mapping[str, float]) -> None:
        """The values of one step. Steps come in order."""
        if self._store is None:
            return
        began = time.perf_counter()
        self._steps = max(self._steps, step + 1)
        kept = self._thinning.keep(step, dict(values))
        if kept:
            self._store.row(step, kept)
        if self._store.due():
            self._store.flush()
        self._spent += time.perf_counter() - began

    def config(self, settings: Mapping[str, Any]) -> None:
        if self._store is not None and settings:
            self._store.line("config", settings=flatten(settings))

    def measure(self, measurement: Measurement) -> None:
        if self._store is not None:
            self._store.line(LINE, **as_line(measurement, self._steps))

    def end(self, *, finished: bool = True) -> None:
        """The training is over: by itself, or not."""
        if self._store is None:
            return
        self.last_words()
        store, self._store = self._store, None
        atexit.unregister(self.end)
        self._undo()
        for step, values in self._thinning.rest():
            store.row(step, values)
        if finished:
            store.line(
                "event", event="finished", text=f"The training ended after {self._steps} updates.", step=self._steps
            )
        if self.knows_cost:
            share = self._spent / max(time.perf_counter() - self._began, 1e-9)
            store.line("cost", share=share, seconds=self._spent, steps=self._steps)
        store.end()
        if self._mine and self.report and self.folder is not None and self._steps:
            self._page = conclude(self.folder)

    def _note(self, error: BaseException) -> None:
        if self._store is not None:
            kind, text = described(error)
            self._store.line("event", event=kind, text=text, step=self._steps)


def _place_of_the_launcher() -> Path | None:
    """Where `traindx run` waits for a recording and has none yet."""
    if not os.environ.get(RECORD):
        return None
    recorder = sys.modules.get("traindx.live.host.recorder")  # torch is loaded, which Keras may run on
    freed: Path | None = recorder.hand_over() if recorder is not None else None
    folder = Path(os.environ[RECORD])
    return folder if freed is not None or unused_folder(folder) == folder else None
