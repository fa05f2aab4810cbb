"""One training of a framework that runs on torch: the recorder begins with it, ends with it however it ends, and the
page is shown once."""

from __future__ import annotations

import atexit
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.live.host.ranks import place
from traindx.live.host.recorder import watch_exceptions
from traindx.live.host.saying import say
from traindx.live.outside.page import conclude
from traindx.live.outside.watching import Watch


class Session:
    """What every callback holds, in every rank of a distributed training. A fault of ours ends the recording with one
    line and leaves the training alone."""

    def __init__(self, name: str, to: str | Path | None, budget: float, report: bool) -> None:
        self.name, self.to, self.budget, self.report = name, to, budget, report
        self._watch: Watch | None = None
        self._page: Diagnosis | None = None
        self._open = False

    @property
    def running(self) -> bool:
        return self._open

    @property
    def folder(self) -> Path | None:
        """Where the recording is."""
        return self._watch.folder if self._watch is not None else None

    @property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of the training, or of what there is of it so far."""
        if self._page is not None:
            return self._page
        if self._watch is None:
            raise TraindxError("Nothing was recorded: no training has begun.", "Train first.")
        return self._watch.diagnose()

    def begin(self, *models: Any, cut_short: bool = False) -> None:
        """The training begins; `cut_short`: it is only a trial, whose length says nothing."""
        if self._open:
            return
        try:
            self._page = None
            self._watch = Watch(*models, to=self.to, budget=self.budget, name=self.name)
            hub = self._watch.start()
            self._open = True
            if self._watch.mine:
                hub.cut_short = cut_short
                watch_exceptions(hub)
                atexit.register(self.end)
        except Exception as error:
            _apologise(error)

    def log(self, metrics: Mapping[str, Any]) -> None:
        if self._open and self._watch is not None:
            self._watch.log(metrics)

    def config(self, settings: Mapping[str, Any]) -> None:
        if self._open and self._watch is not None:
            self._watch.config(settings)

    def end(self, error: BaseException | None = None) -> None:
        """The training is over. Under `traindx run` the recording goes on, and the page is left to it."""
        if not self._open or self._watch is None:
            return
        self._open = False
        atexit.unregister(self.end)
        if not self._watch.mine:
            return
        try:
            self._watch.stop(error)
            if self.report and place()[0] == 0:
                self._page = conclude(self._watch.folder)
        except Exception as fault:
            _apologise(fault)


def _apologise(error: Exception) -> None:
    say(f"the recording ended ({type(error).__name__}: {error})")
