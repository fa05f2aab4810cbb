"""`traindx diagnose --follow`: watch a training that is still running, and tell every change of the diagnosis."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from traindx.cli.diagnose import examine, exit_code, report
from traindx.cli.gather import STDIN, gather, with_settings
from traindx.cli.talk import emit, say
from traindx.diagnosis import Diagnosis
from traindx.errors import TraindxError
from traindx.reporters.base import Reporter
from traindx.reporters.json import line as json_line
from traindx.reporters.wording import VERDICT_WORD, clean, count, leading, percent, run_name, title_of

if TYPE_CHECKING:
    from traindx.run import Run
    from traindx.signals import Settings

PAUSE_SECONDS = 1.0
SHARE_OF_CORE = 0.1  # following must not disturb the training it watches
_CHUNK = 1 << 16


class Watched(Protocol):
    """Something that grows: `mark` changes whenever there is more to read, and must be cheap."""

    def mark(self) -> object: ...

    def ended(self) -> bool: ...

    def runs(self) -> list[Run]: ...


class WatchedPaths:
    """Files and directories on disk."""

    def __init__(self, paths: Sequence[Path], config: Path | None) -> None:
        self._paths, self._config = paths, config
        self._said: set[str] = set()

    def mark(self) -> object:
        return tuple(sorted(_stamps(self._paths)))

    def ended(self) -> bool:
        return False

    def runs(self) -> list[Run]:
        return gather(self._paths, self._config, tell=self._say_once)

    def _say_once(self, problem: str) -> None:
        if problem not in self._said:
            self._said.add(problem)
            say(problem)


class WatchedStream:
    """A stream, kept in a temporary file as it comes in, so that it can be read again from the start."""

    def __init__(self, stream: BinaryIO, config: Path | None) -> None:
        self._config = config
        self._file = tempfile.NamedTemporaryFile(prefix="traindx-")  # noqa: SIM115 (lives as long as the watch)
        self._size = 0
        self._open = True
        threading.Thread(target=self._pump, args=(stream,), daemon=True).start()

    def _pump(self, stream: BinaryIO) -> None:
        read = getattr(stream, "read1", stream.read)
        try:
            while chunk := read(_CHUNK):
                self._file.write(chunk)
                self._file.flush()
                self._size += len(chunk)
        finally:
            self._open = False

    def mark(self) -> object:
        return self._size

    def ended(self) -> bool:
        return not self._open

    def runs(self) -> list[Run]:
        from traindx.readers.find import runs_from_stream

        with open(self._file.name, "rb") as copy:
            return with_settings(runs_from_stream(copy), self._config)


def follow_paths(
    paths: Sequence[Path], config: Path | None, settings: Settings, reporter: Reporter, output: Path | None
) -> int:
    """Follow until Ctrl-C or the end of stdin; the exit code is that of the last diagnosis."""
    for path in paths:
        if path != STDIN and not path.exists():
            raise TraindxError(
                f"{path} does not exist.", "Check the spelling; --follow waits for content, not for names."
            )
    watched: Watched
    if STDIN in paths:
        if len(paths) > 1:
            raise TraindxError("--follow takes either - or paths, not both.", "Follow the paths in another terminal.")
        watched = WatchedStream(sys.stdin.buffer, config)
    else:
        watched = WatchedPaths(paths, config)
    last: list[Diagnosis] = []
    try:
        for diagnoses in observe(watched, settings):
            before, last = last, diagnoses
            show(before, last, reporter, output)
    except KeyboardInterrupt:
        pass  # how a watch is meant to end
    if not last:
        raise TraindxError(
            "nothing that could be diagnosed came in.", "Check that the training writes its metrics there."
        )
    return exit_code(last)


def observe(watched: Watched, settings: Settings, *, pause: float = PAUSE_SECONDS) -> Iterator[list[Diagnosis]]:
    """A diagnosis now and after every growth, resting nine times as long as it worked."""
    mark: object = None
    waiting = False
    spent = time.process_time()  # CPU seconds of this process when it last lay down
    while True:
        ended = watched.ended()  # asked before the mark: what comes in between is then read in the next round
        now = watched.mark()
        if now != mark:
            mark = now
            try:
                yield examine(watched.runs(), settings)
            except TraindxError as error:
                if not waiting:
                    say(f"{error.message} Waiting for more.")
                waiting = True
        if ended:
            return
        total = time.process_time()
        time.sleep(max(pause, (total - spent) * (1 / SHARE_OF_CORE - 1)))
        spent = total


def show(before: Sequence[Diagnosis], now: Sequence[Diagnosis], reporter: Reporter, output: Path | None) -> None:
    """The whole page first, then one line a change; a file is written anew at every change."""
    stated = list(changes(before, now)) if before else []
    if before and not stated:
        return
    if output is not None:
        report(now, reporter, output)
    if reporter.id == "json":
        if output is None:
            emit("".join(json_line(diagnosis) for diagnosis in now))
    elif not before and output is None:
        report(now, reporter, None)
    else:
        emit("".join(f"{line}\n" for line in stated))


def changes(before: Sequence[Diagnosis], now: Sequence[Diagnosis]) -> Iterator[str]:
    """What is different, one line each: new runs, verdicts that turned, symptoms that came or went."""
    known = {run_name(diagnosis): diagnosis for diagnosis in before}
    for diagnosis in now:
        name = run_name(diagnosis)
        at = f"step {count(diagnosis.run.steps):>7}" + (f"  {name}" if len(now) > 1 else "")
        old = known.get(name)
        if old is None:
            yield f"{at}  new run: {_verdict(diagnosis)}"
            continue
        if old.verdict != diagnosis.verdict:
            yield f"{at}  {_verdict(diagnosis)}, was {old.verdict}"
        had = {symptom.id for symptom in old.present()}
        has = {symptom.id: symptom for symptom in diagnosis.present()}
        for symptom in has.values():
            if symptom.id not in had:
                yield f"{at}  + {clean(symptom.id)}: {clean(symptom.evidence)}"
        for identifier in sorted(had - set(has)):
            yield f"{at}  - {clean(identifier)} is gone"


def _verdict(diagnosis: Diagnosis) -> str:
    first = leading(diagnosis)
    guess = f" ({title_of(first)}, {percent(first.confidence)})" if first is not None else ""
    return VERDICT_WORD[diagnosis.verdict] + guess


def _stamps(paths: Sequence[Path]) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of every file, without opening any."""
    for path in paths:
        if path.is_dir():
            for folder, _, names in os.walk(path):
                yield from (stamp for name in names if (stamp := _stamp(os.path.join(folder, name))))
        elif stamp := _stamp(str(path)):
            yield stamp


def _stamp(name: str) -> tuple[str, int, int] | None:
    try:
        status = os.stat(name)
    except OSError:  # deleted between listing and looking
        return None
    return name, status.st_size, status.st_mtime_ns
