"""The way in from Python: files become runs, a run becomes a diagnosis.

The commands, the agents' server and notebooks come this way too."""

from __future__ import annotations

from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING

from traindx.errors import TraindxError

if TYPE_CHECKING:
    from collections.abc import Callable

    from traindx.diagnosis import Diagnosis
    from traindx.readers.find import Progress
    from traindx.readers.reach import Allowed
    from traindx.run import Run
    from traindx.signals import Settings


def read(
    path: str | PathLike[str], *, progress: Progress | None = None, allowed: Allowed | None = None,
    tell: Callable[[str], None] | None = None,
) -> list[Run]:  # fmt: skip
    """Every run in a file or below a directory: logs of any known format, recordings, runs that were saved. Nothing in
    them is executed. `progress` hears what is read, bytes done and bytes in all; files that are not `allowed` are
    passed over; `tell` hears of logs in a directory that could not be read. Raises TraindxError, with what to do, where
    there is no run."""
    from traindx.readers.find import find_runs

    return find_runs([Path(fspath(path))], progress=progress, allowed=allowed, tell=tell)


def _only_run(path: str | PathLike[str]) -> Run:
    runs = read(path)
    if len(runs) > 1:
        names = ", ".join(run.source for run in runs[:3])
        raise TraindxError(
            f"{fspath(path)} holds {len(runs)} runs ({names}{', …' if len(runs) > 3 else ''}).",
            "Give the path of one of them, or take each of traindx.read(path).",
        )
    return runs[0]


def diagnose(what: str | PathLike[str] | Run, settings: Settings | None = None) -> Diagnosis:
    """What is wrong with a run, how sure that is, and what to change. `what` is a run, or the path of one run;
    `settings` says what the files cannot: the number of classes, which metric counts and in which direction."""
    from traindx.engine import diagnose as of_run
    from traindx.run import Run

    return of_run(what if isinstance(what, Run) else _only_run(what), settings)
