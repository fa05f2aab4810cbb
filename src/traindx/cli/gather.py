"""From what stands on the command line to runs: every path that can be used is, the others are said."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from traindx.cli.talk import is_terminal, say
from traindx.errors import TraindxError

if TYPE_CHECKING:
    from traindx.run import Run

STDIN = Path("-")
ThingT = TypeVar("ThingT")
ResultT = TypeVar("ResultT")


def gather(
    paths: Sequence[Path],
    config: Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
    tell: Callable[[str], None] = say,
) -> list[Run]:
    """The runs in these paths. What cannot be used is told (on stderr); it raises only when nothing can be."""
    _settings(config)  # first: a wrong --config should not cost the reading of the logs
    runs = [run for found in usable(paths, lambda path: _runs(path, progress), tell) for run in found]
    for run in runs if len(runs) > 1 else ():  # a single page says it itself
        for copy in run.copies:
            tell(f"{copy} is left out: it is a copy of {run.source} (the same values at the same steps).")
    return with_settings(runs, config)


def usable(
    things: Iterable[ThingT], use: Callable[[ThingT], ResultT], tell: Callable[[str], None] = say
) -> list[ResultT]:
    """`use` of every thing that can be used. The others are told (on stderr); it raises only when none can be."""
    results: list[ResultT] = []
    problems: list[TraindxError] = []
    for thing in things:
        try:
            results.append(use(thing))
        except TraindxError as error:
            problems.append(error)
    last = [] if results or not problems else [problems.pop()]
    for problem in problems:
        tell(str(problem))
    if last:
        raise last[0]
    return results


def _runs(path: Path, progress: Callable[[str, int, int], None] | None) -> list[Run]:
    from traindx.opening import read
    from traindx.readers.find import runs_from_stream

    if path == STDIN:
        if is_terminal(sys.stdin):
            say("reading the log from the terminal; end it with Ctrl-D.")
        return runs_from_stream(sys.stdin.buffer)
    try:
        return read(path, progress=progress)
    except OSError as error:
        raise TraindxError(f"{path} cannot be read: {error.strerror or error}.", "Check its permissions.") from error


def with_settings(runs: list[Run], config: Path | None) -> list[Run]:
    """The runs with the settings from --config added to their own."""
    settings = _settings(config)
    for run in runs:
        run.add_config(settings)
    return runs


def _settings(config: Path | None) -> dict[str, object]:
    if config is None:
        return {}
    from traindx.readers.settings import load_settings

    if not config.is_file():
        raise TraindxError(
            f"--config {config} does not exist.", "Give a YAML or JSON file with the training's settings."
        )
    settings = load_settings(config)
    if not settings:
        raise TraindxError(f"--config {config} holds no settings.", "Give a YAML or JSON file of names and values.")
    return dict(settings)
