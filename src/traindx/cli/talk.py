"""How the commands speak: results go to stdout or a file, talk and progress to stderr."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, TextIO

from traindx.errors import TraindxError
from traindx.reporters.wording import clean

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

EXIT_INTERRUPTED = 130  # 128 + SIGINT, as shells report it
EXIT_BROKEN_PIPE = 141  # 128 + SIGPIPE
FILE_WIDTH = 100  # columns when nobody's terminal says otherwise
SILENCE_SECONDS = 1.0  # work shorter than this shows no progress bar


class Closed(Exception):
    """The reader of our output went away."""


def say(message: str) -> None:
    """One line of talk; never fails, since it is also what reports failures."""
    with contextlib.suppress(OSError, ValueError):
        print(f"traindx: {clean(message)}", file=sys.stderr, flush=True)


def is_terminal(stream: TextIO) -> bool:
    return not stream.closed and stream.isatty()


def color_wanted(stream: TextIO) -> bool:
    """Colour on a terminal that can show it, unless NO_COLOR (no-color.org) is set to anything."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def width_of(stream: TextIO) -> int:
    return shutil.get_terminal_size((FILE_WIDTH, 40)).columns if is_terminal(stream) else FILE_WIDTH


def emit(text: str, output: Path | None = None) -> None:
    """The result, to stdout or to a file."""
    if output is not None:
        try:
            output.write_text(text, encoding="utf-8", errors="replace")
        except OSError as error:
            raise cannot_write(output, error) from error
        return
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except BrokenPipeError as error:
        raise Closed from error


def check_writable(output: Path | None) -> None:
    """Refuse a place that cannot be written before the long work, not after it."""
    if output is None:
        return
    if output.is_dir():
        raise TraindxError(f"-o {output} is a directory.", "Give the name of a file.")
    if not output.parent.is_dir():
        raise TraindxError(f"-o {output}: the directory {output.parent} does not exist.", "Create it first.")
    place = output if output.exists() else output.parent
    if not os.access(place, os.W_OK):
        raise TraindxError(f"-o {output} cannot be written: permission denied.", "Choose another place.")


def cannot_write(output: Path, error: OSError) -> TraindxError:
    return TraindxError(f"-o {output} cannot be written: {error.strerror or error}.", "Choose another place.")


def close_quietly() -> None:
    """After a broken pipe nothing more may be written: not by us, and not by Python's own flush at exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class Bar:
    """A progress bar on stderr that appears only on a terminal, and only for work longer than a second.

    A timer starts it, so that it also appears while one long computation reports nothing."""

    def __init__(self, label: str) -> None:
        self.label = label
        self._state = (label, 0, 0)
        self._lock = threading.Lock()
        self._progress: Progress | None = None
        self._task: TaskID | None = None
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Bar:
        if is_terminal(sys.stderr):
            self._timer = threading.Timer(SILENCE_SECONDS, self._appear)
            self._timer.daemon = True
            self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer.join()
        if self._progress is not None:
            self._progress.stop()

    def __call__(self, label: str, done: int, total: int) -> None:
        self._state = (label, done, total)
        with self._lock:
            if self._progress is not None and self._task is not None:
                self._progress.update(self._task, description=_label(label), completed=done, total=total or None)

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TaskProgressColumn(),
            TimeRemainingColumn(),
        )
        progress = Progress(*columns, console=Console(stderr=True), transient=True)
        label, done, total = self._state
        with self._lock:
            self._task = progress.add_task(_label(label), completed=done, total=total or None)
            self._progress = progress
            progress.start()


def _label(text: str) -> str:
    name = clean(text)
    return name if len(name) <= 48 else f"…{name[-47:]}"
