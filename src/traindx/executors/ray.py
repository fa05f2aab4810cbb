"""A Ray cluster: for fleets of runs on storage that every node sees under the same path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from traindx.errors import TraindxError
from traindx.executors.base import TRIES, ItemT, Lost, ResultT, fault

IN_FLIGHT = 4  # tasks for each core of the cluster: enough to keep it busy, few enough for a bounded memory
CHUNK = 8  # items in a task: Ray needs about a millisecond for each


class Ray:
    """`address` names an existing cluster ('auto', 'ray://head:10001'); without it Ray starts one on this machine."""

    def __init__(self, address: str | None = None, chunk: int = CHUNK) -> None:
        if find_spec("ray") is None:
            raise TraindxError("--executor ray needs Ray, which is not installed.", 'Run: pip install "traindx[ray]"')
        self.address = address
        self.chunk = chunk

    def connect(self) -> None:
        """Stay connected until the process ends, for several calls of `map`."""
        ray = import_module("ray")
        if not ray.is_initialized():
            self._connect(ray)

    def map(self, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]) -> Iterator[tuple[int, ResultT | Lost]]:
        ray = import_module("ray")  # typed by nobody, and not there for most
        own = not ray.is_initialized()
        if own:
            self._connect(ray)
        try:
            yield from self._spread(ray, function, items)
        finally:
            if own:
                ray.shutdown()

    def _connect(self, ray: Any) -> None:
        try:
            ray.init(address=self.address, log_to_driver=False, configure_logging=False, include_dashboard=False)
        except Exception as error:
            raise TraindxError(
                f"The Ray cluster at {self.address or 'this machine'} cannot be reached: {str(error).splitlines()[0]}",
                "See `ray status`, or leave out --executor.",
            ) from error

    def _spread(
        self, ray: Any, function: Callable[[ItemT], ResultT], items: Sequence[ItemT]
    ) -> Iterator[tuple[int, ResultT | Lost]]:
        # Ray itself runs a task again whose worker or node died; only crashes count, not what the function raises
        task = ray.remote(max_retries=TRIES, num_cpus=1)(_each)
        most = max(4, int(IN_FLIGHT * ray.cluster_resources().get("CPU", 1)))
        starts = iter(range(0, len(items), self.chunk))
        singly: list[
            range
        ] = []  # the items of a task that could not be done: one of them is to blame, the others are not
        running: dict[Any, range] = {}
        while True:
            while len(running) < most:
                if singly:
                    places = singly.pop()
                elif (start := next(starts, None)) is not None:
                    places = range(start, min(start + self.chunk, len(items)))
                else:
                    break
                running[task.remote(function, [items[place] for place in places])] = places
            if not running:
                return
            (ready, *_), _ = ray.wait(list(running), num_returns=1)
            places = running.pop(ready)
            try:
                yield from zip(places, ray.get(ready), strict=True)
            except Exception as error:
                if len(places) == 1:
                    yield places[0], fault(error)
                else:
                    singly += [range(place, place + 1) for place in places]


def _each(function: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
    results = []
    for item in items:
        try:
            results.append(function(item))
        except Exception as error:
            results.append(fault(error))
    return results
