"""From a recording to its page, without torch."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TextIO

from traindx.diagnosis import Diagnosis
from traindx.engine import diagnose
from traindx.errors import TraindxError
from traindx.opening import read
from traindx.reporters import reporters

WIDTH = 100


def diagnosis_of(folder: Path) -> Diagnosis:
    """The diagnosis of what has been recorded in this directory so far."""
    if not folder.exists():
        raise TraindxError("Nothing was recorded: no training step was seen.", "Train while the recorder is at work.")
    return diagnose(read(folder)[0])


def show(page: Diagnosis, stream: TextIO) -> None:
    print(reporters()["text"].render([page], color=False, width=WIDTH), end="", file=stream)


def conclude(folder: Path) -> Diagnosis | None:
    """The last words of a recording that a callback has made: the page and where to find it again, on stderr, where
    they mix with no output of the script. None where nothing was recorded, or where it cannot be diagnosed."""
    try:
        page = diagnosis_of(folder)
    except TraindxError as error:
        print(f"traindx: {error}", file=sys.stderr)
        return None
    show(page, sys.stderr)
    print(f"traindx: recorded in {shown(folder)}; again any time: traindx diagnose {shown(folder)}", file=sys.stderr)
    return page


def shown(folder: Path) -> str:
    """The directory as one would type it here."""
    try:
        return os.path.relpath(folder) if folder.absolute().is_relative_to(Path.cwd()) else str(folder)
    except OSError:  # the working directory is gone
        return str(folder)
