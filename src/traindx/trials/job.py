"""One arm of a trial from its order to its result: copy, run, bring back the recording. Wherever it is executed."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from traindx.errors import TraindxError
from traindx.live.host.bootstrap import OPTIONS, RECORD, TRACE
from traindx.live.host.launch import HOOK, reaching
from traindx.secrets import hidden
from traindx.trials.sandbox import Limits, choose
from traindx.trials.starting import Child, Plain, Starter
from traindx.trials.workspace import Copy, Project

START = "traindx.trials.inside:start"
BUDGET = 0.3  # of the time for recording: an arm may cost a little more than the bare steps, never twice as much
STARTUP_SECONDS = 300.0  # for everything before the first update and after the last
PATIENCE = 3.0  # times the seconds an arm should take, after which it is ended
TAIL = 4000  # characters of its output that are kept
KEPT_BYTES = 64 << 20


@dataclass(frozen=True)
class Job:
    """What an executor is given. Plain data, so that it can travel."""

    command: tuple[str, ...]
    project: Project
    settings: tuple[str, ...] = ()
    edits: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    steps: int | None = None
    seconds: float | None = None
    reference: tuple[str, tuple[tuple[int, float], ...]] | None = (
        None  # the unchanged script's errors, to give up what is hopeless
    )
    keep: tuple[int, str] | None = None  # after which update to keep the state, and in which file
    state: str | None = None  # the file of a kept state to begin with
    startup: float = STARTUP_SECONDS
    probes: float | None = None  # seconds for probes of the model, instead of a training
    network: bool = False  # whether it may use the network
    trace: bool = False  # whether its first updates are traced line by line


@dataclass(frozen=True)
class Result:
    """What comes back: how the script ended, the last it said, and the files of its recording."""

    code: int
    said: str
    files: Mapping[str, bytes]
    refused: str | None = None  # why it could not even be started
    interrupted: bool = False

    def save(self, folder: Path) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in self.files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(content)
        return folder


def perform(job: Job, started: Callable[[Child], None] | None = None, starter: Starter | None = None) -> Result:
    """Run one arm in a directory of its own, which is gone afterwards, held by the strongest sandbox of this machine.
    `started` gets the process, to be able to end it."""
    with tempfile.TemporaryDirectory(prefix="traindx-trial-", ignore_cleanup_errors=True) as place:
        copy = Copy(job.project, Path(place))
        try:
            copy.make(job.edits)
        except (OSError, TraindxError) as error:
            return Result(-1, "", {}, f"its directory could not be copied: {error}")
        recording = Path(place) / "arm.traindx"
        output = Path(place) / "output.txt"
        code = _run(job, copy, recording, output, started, starter or Plain())
        said = output.read_bytes()[-TAIL:].decode("utf-8", "replace")
        return Result(code, hidden(_with_own_paths(said, copy)), _files(recording))


def _with_own_paths(text: str, copy: Copy) -> str:
    """What the script said, with the user's own paths instead of the copy's."""
    return text.replace(str(copy.root), str(copy.project.root))


def _run(
    job: Job, copy: Copy, recording: Path, output: Path, started: Callable[[Child], None] | None, starter: Starter
) -> int:
    command = reaching([job.command[0], *(copy.argument(word) for word in job.command[1:])])
    kept = [Path(job.keep[1]).parent] if job.keep else []
    for folder in kept:
        folder.mkdir(parents=True, exist_ok=True)  # a sandbox can only open what is there
    writable = (str(copy.place), *map(str, kept))
    options = {
        "start": START, "budget": BUDGET, "steps": job.steps, "settings": list(job.settings), "seed": job.seed,
        "seconds": job.seconds, "reference": job.reference,
        "closed": sorted({str(job.project.root), str(job.project.folder)}),
        "allowed": list(writable), "keep": job.keep,
        "state": job.state, "probes": job.probes,
    }  # fmt: skip
    held = Limits(writable, job.network)
    temporary = copy.place / "tmp"  # the machine's own is read-only there
    temporary.mkdir(exist_ok=True)
    paths = [str(HOOK), copy.moved(os.environ.get("PYTHONPATH", ""))]
    environment = {
        **os.environ, RECORD: str(recording), OPTIONS: json.dumps(options), "PYTHONHASHSEED": "0",
        "PYTHONPATH": os.pathsep.join(path for path in paths if path), "PYTHONDONTWRITEBYTECODE": "1",
        "TMPDIR": str(temporary), **({TRACE: "1"} if job.trace else {}),
    }  # fmt: skip
    limit = None if job.seconds is None else job.startup + PATIENCE * job.seconds
    try:
        child = starter.start(command, copy.folder, environment, output, (choose().id, held))
    except OSError as error:
        output.write_text(f"{command[0]} cannot be started: {error}")
        return 127
    if started is not None:
        started(child)
    try:
        return child.wait(timeout=limit)
    except subprocess.TimeoutExpired:
        with output.open("ab") as file:
            file.write(b"\nended by the trial: it made no update in time")
        return 124
    finally:
        end(child)


def end(child: Child) -> None:
    """End a process and all it has started; they have a session of their own."""
    for number, patience in ((signal.SIGTERM, 2.0), (signal.SIGKILL, 2.0)):
        with contextlib.suppress(OSError):
            os.killpg(child.pid, number)
        if child.poll() is not None:
            continue
        with contextlib.suppress(subprocess.TimeoutExpired):
            child.wait(timeout=patience)


def _files(recording: Path) -> dict[str, bytes]:
    """The recording's files; batches that were saved beside it stay behind."""
    found: dict[str, bytes] = {}
    for path in sorted(recording.rglob("*")):
        if path.is_file() and path.suffix in (".json", ".jsonl") and path.stat().st_size <= KEPT_BYTES:
            found[str(path.relative_to(recording))] = path.read_bytes()
    return found
