"""trackio: an alert, which is where its dashboard and its command line show findings."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from traindx.live.pushing.base import Note, Tracker


class Trackio(Tracker):
    id = "trackio"
    awaits = "trackio"
    begins = ("trackio:init",)
    ends = ("trackio:finish",)

    def open(self, given: Sequence[Any]) -> list[Any]:
        run = sys.modules["trackio"].context_vars.current_run.get()
        return [] if run is None else [run]

    def write(self, target: Any, note: Note) -> None:
        trackio = sys.modules["trackio"]
        level = trackio.AlertLevel.WARN if note.urgent else trackio.AlertLevel.INFO
        trackio.alert(title=note.title, text=note.text, level=level)


TRACKER = Trackio()
