"""Who runs the arms. An executor is given jobs and yields their results as they come."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from typing import Protocol

from traindx.executors import Executor as Workers
from traindx.executors import Lost, executor_for
from traindx.executors.ray import Ray
from traindx.trials.job import Job, Result, end, perform
from traindx.trials.starting import Child, ForkServer, Starter


class Executor(Protocol):
    """Runs jobs, in any order and place, and yields (place in the list, result) as each is done. Leaving the iteration
    early, by an exception or by closing it, ends what is still running."""

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]: ...


class Local:
    """Processes of this machine, `at_once` of them at a time, forked from one that has imported torch where that can
    be."""

    def __init__(self, at_once: int = 1) -> None:
        self.at_once = at_once
        self._fork_server = ForkServer()
        weakref.finalize(self, self._fork_server.close)

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        running = _Running(self._fork_server)
        pool = ThreadPoolExecutor(self.at_once)
        places: dict[Future[Result], int] = {}
        try:
            places = {pool.submit(running.perform, job): place for place, job in enumerate(jobs)}
            for future in as_completed(places):
                yield places[future], future.result()
        finally:
            for future in places:
                future.cancel()
            running.stop()
            pool.shutdown(wait=True)


class Elsewhere:
    """Another executor's workers: a Ray cluster or Slurm, which see the project under the same path."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Result]]:
        for place, result in self.workers.map(perform, jobs):
            yield place, Result(-1, "", {}, result.reason) if isinstance(result, Lost) else result


def executor_named(name: str, at_once: int, address: str | None = None) -> Executor:
    """'local', 'ray' or 'slurm'."""
    if name == "local":
        return Local(at_once)
    workers = executor_for(name, address=address, chunk=1)
    if isinstance(workers, Ray):
        workers.connect()
    return Elsewhere(workers)


class _Running:
    """The processes at work, so that all can be ended."""

    def __init__(self, starter: Starter) -> None:
        self._starter = starter
        self._lock = threading.Lock()
        self._children: list[Child] = []
        self._stopped = False

    def perform(self, job: Job) -> Result:
        if self._stopped:
            return Result(-1, "", {}, interrupted=True)
        return perform(job, self._started, self._starter)

    def _started(self, child: Child) -> None:
        with self._lock:
            self._children.append(child)
            stopped = self._stopped
        if stopped:
            end(child)

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            children = list(self._children)
        for child in children:
            if child.poll() is None:
                end(child)
