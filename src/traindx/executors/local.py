"""Processes of this machine, each a fresh interpreter that is given one item at a time through its pipes.

Not `multiprocessing`: forking a process that has threads may hang, and spawning imports the user's main module
again."""

from __future__ import annotations

import os
import pickle
import queue
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from traindx.executors.base import TRIES, ItemT, Lost, ResultT, fault

TOO_FEW_ITEMS = 3  # items that are done sooner here than a process starts
HEADER = struct.Struct("<Q")  # the length of the pickled message that follows
_QUIET = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}  # one core a worker


class Local:
    """`workers` processes at most; as many as this process may use cores, unless given."""

    def __init__(self, workers: int | None = None) -> None:
        self.workers = workers or len(os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(2))

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[tuple[int, ResultT | Lost]]:
        if len(items) <= TOO_FEW_ITEMS or self.workers == 1:
            for place, item in enumerate(items):
                try:
                    yield place, function(item)
                except Exception as error:
                    yield place, fault(error)
            return
        yield from self._spread(function, items)

    def _spread(
        self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[tuple[int, ResultT | Lost]]:
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for place in range(len(items)):
            waiting.put(place)
        done: queue.Queue[tuple[int, Any]] = queue.Queue(
            maxsize=4 * self.workers
        )  # bounded: results wait in the workers
        crew = [_Worker(function, items, waiting, done) for _ in range(min(self.workers, len(items)))]
        for worker in crew:
            worker.start()
        try:
            for _ in range(len(items)):
                yield done.get()
        finally:
            for worker in crew:
                worker.stop()


class _Worker(threading.Thread):
    """Feeds one process; starts it anew when it dies, and tries the item again."""

    def __init__(
        self,
        function: Callable[[Any], Any],
        items: Sequence[Any],
        waiting: queue.SimpleQueue[int],
        done: queue.Queue[tuple[int, Any]],
    ) -> None:
        super().__init__(daemon=True)
        self.function, self.items, self.waiting, self.done = function, items, waiting, done
        self.stopped = threading.Event()
        self.process: subprocess.Popen[bytes] | None = None

    def run(self) -> None:
        while not self.stopped.is_set():
            try:
                place = self.waiting.get_nowait()
            except queue.Empty:
                break
            self._hand_out(place, self._try(self.items[place]))
        self._end()

    def _hand_out(self, place: int, result: Any) -> None:
        while not self.stopped.is_set():
            try:
                self.done.put((place, result), timeout=0.5)
                return
            except queue.Full:
                continue

    def _try(self, item: Any) -> Any:
        message = pickle.dumps((self.function, item))
        for _ in range(TRIES):
            if self.stopped.is_set():
                break
            try:
                process = self._alive()
                assert process.stdin is not None
                assert process.stdout is not None
                send(process.stdin, message)
                answer = receive(process.stdout)
            except OSError:
                answer = None
            if answer is not None:
                return pickle.loads(answer)
            self._end()
        return Lost(f"its worker process died {TRIES} times")

    def _alive(self) -> subprocess.Popen[bytes]:
        if self.process is None or self.process.poll() is not None:
            paths = os.pathsep.join(path or os.getcwd() for path in sys.path)
            self.process = subprocess.Popen(
                [sys.executable, "-m", "traindx.executors.worker"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, env={**os.environ, **_QUIET, "PYTHONPATH": paths},
            )  # fmt: skip
        return self.process

    def _end(self) -> None:
        process, self.process = self.process, None
        if process is not None:
            process.kill()
            process.wait()
            for stream in (process.stdin, process.stdout):
                if stream is not None:
                    try:
                        stream.close()
                    except OSError:  # what was still in the buffer of a dead process
                        continue

    def stop(self) -> None:
        self.stopped.set()
        process = self.process
        if process is not None:
            process.kill()
        self.join()


def send(stream: IO[bytes], message: bytes) -> None:
    stream.write(HEADER.pack(len(message)))
    stream.write(message)
    stream.flush()


def receive(stream: IO[bytes]) -> bytes | None:
    """The next message; None where the other side is gone."""
    head = stream.read(HEADER.size)
    if len(head) < HEADER.size:
        return None
    (size,) = HEADER.unpack(head)
    message = stream.read(size)
    return message if len(message) == size else None
