"""`traindx watch`: runs and their health in the terminal, kept up to date; over SSH and in tmux as well."""

from __future__ import annotations

import contextlib
import os
import re
import select
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from traindx.cli.talk import color_wanted, emit, is_terminal
from traindx.errors import EXIT_OK, EXIT_PROBLEM_FOUND, TraindxError
from traindx.reporters.wording import percent

if TYPE_CHECKING:
    from traindx.server.shelf import Shelf

PAUSE_SECONDS = 1.0
KEY_SECONDS = 0.1  # how soon a key is felt
QUIT = ("q", "Q", "\x03")
UP, DOWN, OPEN = ("k", "\x1b[A", "\x1bOA"), ("j", "\x1b[B", "\x1bOB"), ("\r", "\n", " ")
KEY = re.compile(r"\x1b[\[O][0-9;]*.|.", re.DOTALL)  # an arrow is three characters


def command(
    path: Annotated[Path, typer.Argument(metavar="RUN_OR_DIR", help="A log, a recording, or a directory of runs.")],
    once: Annotated[bool, typer.Option("--once", help="Show how it is now, and end.")] = False,
) -> int:
    """Watch trainings in the terminal: what needs attention first, live. Keys: q ends, j and k choose a run, Enter
    opens it."""
    if not path.exists():
        raise TraindxError(f"{path} does not exist.", "Give a log, a recording or a directory of runs.")
    from traindx.executors import executor_for
    from traindx.server.shelf import Shelf

    shelf = Shelf(path, executor_for("local", workers=1))
    if once or not is_terminal(sys.stdout) or os.environ.get("TERM") == "dumb":
        with contextlib.suppress(KeyboardInterrupt):  # how a watch is meant to end
            _lines(shelf, once)
    else:
        with contextlib.suppress(KeyboardInterrupt):
            _screen(shelf)
    return EXIT_PROBLEM_FOUND if any(row["verdict"] == "unhealthy" for row in shelf.rows()) else EXIT_OK


def _lines(shelf: Shelf, once: bool) -> None:
    """One line a run at first, then one a change."""
    known: dict[str, str] = {}
    while True:
        shelf.discover()
        shelf.look_again()
        stated = []
        for row in shelf.rows():
            state = _state(row)
            if known.get(row["name"]) != state:
                stated.append(f"{row.get('length') or '–':>14}  {row['name']}  {state}\n")
                known[row["name"]] = state
        emit("".join(stated))
        if once:
            return
        time.sleep(PAUSE_SECONDS)


def _state(row: dict[str, Any]) -> str:
    if not row["id"]:
        return "not read yet"
    cause = f": {row['cause']} {percent(row['sure'])}" if row["cause"] else ""
    symptom = f" ({row['symptom']})" if row["symptom"] else ""
    return f"{row['verdict'].upper()}{cause}{symptom}"


def _screen(shelf: Shelf) -> None:
    """The whole terminal, redrawn when something changes; leaves it as it was."""
    from rich.console import Console
    from rich.live import Live

    from traindx.cli.watch_view import View

    console = Console(no_color=not color_wanted(sys.stdout), highlight=False)
    view = View(shelf)
    shelf.start()
    try:
        with keys() as pressed, Live(console=console, screen=True, auto_refresh=False, transient=True) as live:
            while True:
                live.update(view.drawn(console.size.width, console.size.height), refresh=True)
                deadline = time.monotonic() + PAUSE_SECONDS
                while time.monotonic() < deadline:
                    key = pressed()
                    if key in QUIT:
                        return
                    if key and view.take(key, UP, DOWN, OPEN):
                        break
    finally:
        shelf.stop()


@contextlib.contextmanager
def keys() -> Iterator[Callable[[], str]]:
    """A function that gives the key pressed, or '' after a moment. Without a terminal to read from no key ever
    comes."""
    if not is_terminal(sys.stdin):
        yield _no_key
        return
    try:
        import termios
        import tty
    except ImportError:  # Windows: Ctrl-C ends it there
        yield _no_key
        return
    descriptor = sys.stdin.fileno()
    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor)

        waiting: list[str] = []  # a slow line delivers several keys at once

        def pressed() -> str:
            if not waiting and select.select([descriptor], [], [], KEY_SECONDS)[0]:
                waiting.extend(KEY.findall(os.read(descriptor, 1024).decode("utf-8", "replace")))
            return waiting.pop(0) if waiting else ""

        yield pressed
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)


def _no_key() -> str:
    time.sleep(KEY_SECONDS)
    return ""
