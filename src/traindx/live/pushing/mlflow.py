"""MLflow: tags to search runs by, and the page as an artifact."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from traindx.live.pushing.base import Note, Tracker


class Mlflow(Tracker):
    id = "mlflow"
    awaits = "mlflow"
    begins = ("mlflow:start_run", "mlflow.tracking.fluent:start_run")
    ends = ("mlflow:end_run", "mlflow.tracking.fluent:end_run")

    def open(self, given: Sequence[Any]) -> list[Any]:
        run = sys.modules["mlflow"].active_run()
        return [] if run is None else [run.info.run_id]

    def write(self, target: Any, note: Note) -> None:
        mlflow = sys.modules["mlflow"]
        mlflow.set_tags({name.replace("/", "."): str(value) for name, value in note.values.items()})
        mlflow.log_text(note.page, "traindx/diagnosis.md")


TRACKER = Mlflow()
