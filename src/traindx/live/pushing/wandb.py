"""Weights & Biases: values in the run's summary, and an alert where there is a problem."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from traindx.live.pushing.base import Note, Tracker


class Wandb(Tracker):
    id = "wandb"
    awaits = "wandb"
    begins = ("wandb:init",)
    ends = ("wandb.sdk.wandb_run:Run.finish", "wandb.sdk.wandb_run:Run.__exit__")

    def open(self, given: Sequence[Any]) -> list[Any]:
        run = given[0] if given else getattr(sys.modules["wandb"], "run", None)
        return [] if run is None else [run]

    def write(self, target: Any, note: Note) -> None:
        target.summary.update(note.values)
        if note.urgent:
            target.alert(title=note.title, text=note.text, level="WARN")


TRACKER = Wandb()
