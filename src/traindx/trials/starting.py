"""How an arm's process is started: as a program of its own, or as a fork of one that has imported torch already."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Protocol

from traindx.live.host.launch import HOOK
from traindx.trials.fork_server import CODE
from traindx.trials.sandbox import Limits
from traindx.trials.sandbox.choice import wrapped

POLL_SECONDS = 0.05


class Child(Protocol):
    """A process that leads a session of its own."""

    pid: int

    def poll(self) -> int | None: ...

    def wait(self, timeout: float | None = None) -> int: ...


Held = tuple[str, Limits]  # the sandbox that holds an arm, and what it lets through


class Starter(Protocol):
    def start(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, held: Held
    ) -> Child: ...


class Plain:
    """A new interpreter for every arm."""

    def start(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, held: Held
    ) -> Child:
        with output.open("ab") as file:
            return subprocess.Popen(
                wrapped(*held, command), cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )  # fmt: skip


@dataclass
class Forked:
    """A process of the fork server: its keeper, who leads the session and writes down how the arm ended."""

    pid: int
    code: Path

    def poll(self) -> int | None:
        if self.code.exists():
            return int(self.code.read_text())
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return int(self.code.read_text()) if self.code.exists() else -int(signal.SIGKILL)
        return None

    def wait(self, timeout: float | None = None) -> int:
        ends = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if ends is not None and time.monotonic() > ends:
                raise subprocess.TimeoutExpired("arm", timeout or 0.0)
            time.sleep(POLL_SECONDS)
        return code


class ForkServer:
    """Forks where it can: scripts and modules of this interpreter, on Linux. Everything else is started plainly, and so
    is everything once the fork server has failed."""

    def __init__(self) -> None:
        self._plain = Plain()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self._usable = sys.platform == "linux"

    def start(
        self, command: Sequence[str], folder: Path, environment: Mapping[str, str], output: Path, held: Held
    ) -> Child:
        if not self._usable or command[0] != sys.executable or not (command[1] == "-m" or command[1].endswith(".py")):
            return self._plain.start(command, folder, environment, output, held)
        request = {
            "words": command[1:], "folder": str(folder), "environment": dict(environment), "output": str(output),
            "sandbox": held[0], "limits": asdict(held[1]),
        }  # fmt: skip
        with self._lock:
            keeper = self._ask(json.dumps(request))
        if keeper is None:
            return self._plain.start(command, folder, environment, output, held)
        return Forked(keeper, output.with_suffix(CODE))

    def _ask(self, request: str) -> int | None:
        try:
            if self._process is None:
                self._process = _begun()
            assert self._process.stdin is not None
            assert self._process.stdout is not None
            self._process.stdin.write(f"{request}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())
        except (OSError, ValueError):
            self._usable = False
            return None

    def close(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        with contextlib.suppress(OSError):
            if process.stdin is not None:
                process.stdin.close()
        process.kill()
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _begun() -> subprocess.Popen[str]:
    """The fork server itself: it must find traindx where this process did, and not be recorded."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path and path != str(HOOK)]
    environment = {**os.environ, "PYTHONHASHSEED": "0", "PYTHONPATH": os.pathsep.join(paths)}
    # not by PYTHONPATH: an arm replaces that by its own, and what lies beside an installed traindx is everything else
    # that is installed
    code = (
        f"import sys; sys.path.append({str(Path(__file__).parents[2])!r}); from traindx.trials.fork_server import "
        f"main; main()"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", code], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    if process.stdout.readline() != "ready\n":
        raise OSError("the fork server did not come up")
    return process
