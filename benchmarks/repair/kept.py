"""Arms that are kept on disk, so that a benchmark that is cut short goes on where it was, and no arm is run twice."""

from __future__ import annotations

import hashlib
import json
import os
import time
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from traindx.trials.executors import Executor
from traindx.trials.job import Job, Result
from traindx.trials.yardstick import FILE


class Kept:
    """An executor in front of another one. Whole arms also serve where the arm of a limited length ended by itself."""

    def __init__(self, executor: Executor, folder: Path) -> None:
        self.executor = executor
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        missing = []
        for place, job in enumerate(jobs):
            known = self._known(job)
            if known is None:
                missing.append(place)
            else:
                yield place, known
        began = time.monotonic()
        for place, result in self.executor.run([jobs[place] for place in missing]):
            seconds = time.monotonic() - began
            began = time.monotonic()
            if not result.interrupted:
                self._keep(jobs[missing[place]], result, seconds)
            yield missing[place], result

    def seconds(self, job: Job) -> float:
        """What the arm took when it was run."""
        return float(self._read(job)["seconds"])

    def _known(self, job: Job) -> Result | None:
        for steps in dict.fromkeys((job.steps, 1000)):
            try:
                data = self._read(replace(job, steps=steps))
            except (OSError, ValueError, zlib.error):
                continue
            if steps == job.steps or (job.steps is None and _ended(data)):
                files = {name: text.encode() for name, text in data["files"].items()}
                return Result(data["code"], data["said"], files, data["refused"])
        return None

    def _read(self, job: Job) -> dict[str, object]:
        return json.loads(zlib.decompress(self._path(job).read_bytes()))  # type: ignore[no-any-return]

    def _keep(self, job: Job, result: Result, seconds: float) -> None:
        files = {name: content.decode("utf-8", "replace") for name, content in result.files.items()}
        data = {
            "code": result.code, "said": result.said, "refused": result.refused, "files": files, "seconds": seconds,
        }  # fmt: skip
        part = self._path(job).with_suffix(f".{os.getpid()}")
        part.write_bytes(zlib.compress(json.dumps(data).encode()))
        os.replace(part, self._path(job))

    def _path(self, job: Job) -> Path:
        """By all that decides how an arm goes; not by its folder, which is another one in each sitting."""
        what = [
            job.command[1:],
            job.settings,
            sorted(job.edits.items()),
            job.seed,
            job.steps,
            job.probes is not None,
            job.state,
        ]
        return self.folder / f"{hashlib.sha256(json.dumps(what).encode()).hexdigest()[:24]}.arm"


def _ended(data: dict[str, object]) -> bool:
    files = data["files"]
    assert isinstance(files, dict)
    found = next((text for name, text in files.items() if name.endswith(FILE)), None)
    return found is not None and json.loads(found)["stopped"] == "end"
