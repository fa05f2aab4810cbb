"""Runs the user's command with the recorder in it and waits for its end, whatever that is.

The command runs as a child process with its own terminal, signals, working directory and exit code; only the
environment carries two more variables and one more directory on PYTHONPATH. Because the recording is on disk, a script
that is killed leaves a diagnosis behind all the same."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from traindx.errors import TraindxError
from traindx.live.host.bootstrap import OPTIONS, RECORD
from traindx.live.host.startup_report import SEEN

HOOK = Path(__file__).parents[1] / "hook"
_PYTHON = re.compile(r"python(\d(\.\d+)?)?(\.exe)?$|pypy\d?")
_IGNORING = frozenset("IES")  # options with which an interpreter ignores PYTHONPATH or sitecustomize
_WITH_VALUE = frozenset("WX")
POLL_SECONDS = 0.25
SENT_BY_A_PROCESS = 0  # SI_USER of signal.h, or less; the kernel itself has a higher code
_FORWARDED = (
    "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGQUIT", "SIGALRM", "SIGXCPU", "SIGCONT", "SIGABRT",
)  # fmt: skip


def command_of(arguments: Sequence[str]) -> list[str]:
    """What to run: a script or `-m module` with this Python, anything else as it stands."""
    if not arguments:
        raise TraindxError("Nothing to run.", "Give a script: traindx run train.py")
    first = arguments[0]
    if first == "-m":
        if len(arguments) < 2:
            raise TraindxError("No module after -m.", "For example: traindx run -m package.train")
        return [sys.executable, *arguments]
    if first.endswith(".py") or (Path(first).is_file() and not os.access(first, os.X_OK)):
        if not Path(first).is_file():
            raise TraindxError(f"{first} does not exist.", "Check the path of the script.")
        return [sys.executable, *arguments]
    return list(arguments)


def reaching(command: Sequence[str]) -> list[str]:
    """The same command, changed where its interpreter would ignore what the recorder comes with: that one is given the
    program through a file that brings the recorder along."""
    if not _PYTHON.match(Path(command[0]).name):
        return list(command)
    ignoring = False
    place = 1
    while place < len(command):
        word = command[place]
        if not word.startswith("-") or word == "-":
            break
        flags = "" if word.startswith("--") else word[1:]
        program = next((index for index, flag in enumerate(flags) if flag in "cm"), None)
        valued = next((index for index, flag in enumerate(flags) if flag in _WITH_VALUE), None)
        if program is not None and (valued is None or program < valued):
            ignoring = ignoring or bool(_IGNORING & set(flags[:program]))
            before = [f"-{flags[:program]}"] if program else []
            rest = [
                f"-{flags[program]}",
                *([flags[program + 1 :]] if flags[program + 1 :] else []),
                *command[place + 1 :],
            ]
            inside = [*command[:place], *before, str(HOOK / "inside.py"), *rest]
            return inside if ignoring else list(command)
        ignoring = ignoring or bool(_IGNORING & set(flags[:valued]))
        place += 2 if (valued is not None and valued == len(flags) - 1) or word == "--check-hash-based-pycs" else 1
    if not ignoring or place >= len(command) or command[place] == "-":
        return list(command)
    return [*command[:place], str(HOOK / "inside.py"), *command[place:]]


def name_of(arguments: Sequence[str]) -> str:
    """A name for the recording: the script's or module's."""
    if arguments and arguments[0] == "-m":
        return arguments[1].rpartition(".")[2]
    script = next((argument for argument in arguments if argument.endswith(".py")), arguments[0])
    return Path(script).stem


def launch(
    command: Sequence[str], folder: Path, options: Mapping[str, Any], tick: Callable[[], None] | None = None,
    seen: Path | None = None,
) -> int:  # fmt: skip
    """Run the command to its end and give its exit code (128 + n when signal n ended it). `tick` is called about twice
    a second while it runs. The processes that take up the recorder say so in the file `seen`."""
    command = reaching(command)
    environment = dict(os.environ)
    environment[RECORD] = str(folder.absolute())
    environment[OPTIONS] = json.dumps(options)
    if seen is not None:
        environment[SEEN] = str(seen.absolute())
    paths = [str(HOOK), environment.get("PYTHONPATH", "")]
    environment["PYTHONPATH"] = os.pathsep.join(path for path in paths if path)
    try:
        child = subprocess.Popen(list(command), env=environment)
    except OSError as error:
        raise TraindxError(
            f"{command[0]} cannot be started: {error.strerror or error}.", "Check the command."
        ) from error
    old = _forward_signals(child)
    try:
        with _forwarding_interrupts(child):
            return _wait(child, tick)
    finally:
        for number, handler in old.items():
            signal.signal(number, handler)


def _forward_signals(child: subprocess.Popen[bytes]) -> dict[int, signal.Handlers]:
    """Ctrl-C reaches the child from the terminal itself; other signals are passed on, unless they are ignored, as nohup
    does with SIGHUP."""
    old: dict[int, signal.Handlers] = {signal.SIGINT: signal.signal(signal.SIGINT, lambda number, frame: None)}  # type: ignore[dict-item]
    for name in _FORWARDED:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is not signal.SIG_IGN:
            old[number] = signal.signal(number, lambda received, frame: child.send_signal(received))  # type: ignore[assignment]
    return old


@contextlib.contextmanager
def _forwarding_interrupts(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """Ctrl-C is sent by the terminal to all of its processes, the child among them; an interrupt that somebody sends to
    this process alone is passed on. Only the signal's own information tells the two apart."""
    if not hasattr(signal, "sigtimedwait") or threading.current_thread() is not threading.main_thread():
        yield
        return
    over = threading.Event()

    def pass_on() -> None:
        while not over.is_set():
            received = signal.sigtimedwait({signal.SIGINT}, POLL_SECONDS)
            if received is not None and received.si_code <= SENT_BY_A_PROCESS and child.poll() is None:
                child.send_signal(signal.SIGINT)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    waiting = threading.Thread(target=pass_on, daemon=True)
    waiting.start()
    try:
        yield
    finally:
        over.set()
        waiting.join()
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait(child: subprocess.Popen[bytes], tick: Callable[[], None] | None) -> int:
    while True:
        try:
            code = child.wait(timeout=0.5)
        except subprocess.TimeoutExpired:
            if tick is not None:
                with contextlib.suppress(Exception):  # a fault of ours while it runs is not the training's
                    tick()
            continue
        return code if code >= 0 else 128 - code
