"""A process that has imported torch once and forks for every arm: what all arms share is done once.

`main` is the whole program of that process. It reads one request a line (JSON: words, folder, environment, output,
sandbox, limits) and answers each with the process that runs it. That process writes its exit code beside the output.
Requests come from our own parent only."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import runpy
import signal
import sys
import tempfile
from pathlib import Path
from typing import Any

from traindx.trials.sandbox import Limits, enter

HOOK = Path(__file__).parents[1] / "live" / "hook" / "inside.py"
DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of linux/prctl.h
CODE = ".code"  # the ending of the file with the exit code


def serve() -> dict[str, Any] | None:
    """Fork for each request; None when there are no more. In a process that is to run an arm it gives the request."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # nobody waits for the keepers: they leave a file
    import torch  # noqa: F401

    import traindx.trials.inside  # noqa: F401

    answers.write("ready\n")
    answers.flush()
    for line in sys.stdin:
        keeper = os.fork()
        if keeper == 0:
            os.setsid()
            _end_with_parent()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            arm = os.fork()
            if arm:
                _keep(arm, Path(json.loads(line)["output"]))
            _end_with_parent()
            answers.close()
            return json.loads(line)  # type: ignore[no-any-return]
        answers.write(f"{keeper}\n")
        answers.flush()
    return None


def _end_with_parent() -> None:
    """Whoever kills the session kills its arms: on Linux a process can ask for that, elsewhere an arm ends by its own
    limits."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL)


def _keep(arm: int, output: Path) -> None:
    """Wait for an arm and write down how it ended; never returns."""
    _, status = os.waitpid(arm, 0)
    part = output.with_suffix(".part")
    part.write_text(str(os.waitstatus_to_exitcode(status)))
    os.replace(part, output.with_suffix(CODE))
    os._exit(0)


def become(request: dict[str, Any]) -> None:
    """Turn this process into what `python words…` would be: its directory, environment, output, path and arguments."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    own = {os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path}
    rest = [path for path in sys.path[1:] if os.path.abspath(path) not in own]
    os.environ.clear()
    os.environ.update(request["environment"])
    tempfile.tempdir = None  # an import may have asked for the folder, and the answer is kept
    os.chdir(request["folder"])
    for descriptor, file in ((0, os.open(os.devnull, os.O_RDONLY)), (1, _opened(request)), (2, _opened(request))):
        os.dup2(file, descriptor)
    limits = request["limits"]
    try:
        enter(request["sandbox"], Limits(tuple(limits["writable"]), limits["network"]))
    except OSError as error:
        sys.exit(f"traindx: the trial was not started: {request['sandbox']} could not be set up ({error})")
    given = [path for path in request["environment"].get("PYTHONPATH", "").split(os.pathsep) if path]
    sys.path[:] = ["", *given, *rest]
    sys.argv = [str(HOOK), *request["words"]]
    runpy.run_path(str(HOOK), run_name="__main__")


def _opened(request: dict[str, Any]) -> int:
    return os.open(request["output"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)


def main() -> None:
    asked = serve()
    if asked is not None:
        become(asked)
