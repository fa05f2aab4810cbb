"""From what stands on the command line to runs: every path that can be used is, the others are said."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from traindx.cli.talk import is_terminal, say
from traindx.errors import TraindxError
from traindx.secrets import hidden_settings

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
    """The runs in these paths. What cannot be used is reported (on stderr); it raises only when nothing can be."""
    _settings(config)  # first: a wrong --config should not cost the reading of the logs
    runs = [run for found in usable(paths, lambda path: _runs(path, progress, tell), tell) for run in found]
    for run in runs if len(runs) > 1 else ():  # a single page says it itself
        for copy in run.copies:
            tell(f"{copy} is left out: it is a copy of {run.source} (the same values at the same steps).")
    return with_settings(runs, config)


def usable(
    things: Iterable[ThingT], use: Callable[[ThingT], ResultT], tell: Callable[[str], None] = say
) -> list[ResultT]:
    """`use` of every thing that can be used. The others are reported (on stderr); it raises only when none can be."""
    results: list[ResultT] = []
    problems: list[TraindxError] = []
    bug: Exception | None = None
    for thing in things:
        try:
            results.append(use(thing))
        except TraindxError as error:
            problems.append(error)
        except Exception as error:  # one that we stumble over takes none of the others along
            if os.environ.get("TRAINDX_DEBUG"):
                raise
            problems.append(_stumbled(thing, error))
            bug = error
    if bug is not None and len(problems) == 1 and not results:
        raise bug  # nothing else to show: it is reported as what it is
    last = [] if results or not problems else [problems.pop()]
    for problem in problems:
        tell(str(problem))
    if last:
        raise last[0]
    return results


def _stumbled(thing: object, error: Exception) -> TraindxError:
    what = thing[1] if isinstance(thing, tuple) else thing  # a run comes with its number
    name = getattr(what, "source", what)
    return TraindxError(
        f"{name} could not be judged ({type(error).__name__}: {str(error)[:120]}).",
        "This is a bug in traindx: please report it with the file.",
    )


def _runs(path: Path, progress: Callable[[str, int, int], None] | None, tell: Callable[[str], None]) -> list[Run]:
    from traindx.opening import read
    from traindx.readers.find import runs_from_stream

    if path == STDIN:
        if is_terminal(sys.stdin):
            say("reading the log from the terminal; end it with Ctrl-D.")
        return runs_from_stream(sys.stdin.buffer)
    try:
        return read(path, progress=progress, tell=tell)
    except OSError as error:
        raise TraindxError(f"{path} cannot be read: {error.strerror or error}.", "Check its permissions.") from error


def with_settings(runs: list[Run], config: Path | None) -> list[Run]:
    """The runs with the settings from --config added to their own."""
    settings = _settings(config)
    for run in runs:
        run.add_config(hidden_settings(settings))
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
