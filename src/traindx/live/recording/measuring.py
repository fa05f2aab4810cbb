"""Which measurements are written: the first of each kind and place at once, later ones as they change, less and less
often."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from traindx.measurements import Measurement

AT_ONCE = 16  # measurements of one kind and place that are written as they come
GAP_SECONDS = 1.5  # between later ones at least; alerts follow within about two seconds
GAP_SHARE = 0.01  # of the time since the first, so that a day takes no more than a few hundred lines a kind and place


@dataclass(slots=True)
class _Place:
    """One kind of measurement at one place."""

    began: float
    written: float
    count: int
    last: Measurement
    held: tuple[Measurement, int] | None = None  # newer than the last one written, with its step


class Measuring:
    """Passes measurements on to `write`. What is the same as before is not written again; what comes too soon is held,
    and the newest of it is written when its time has come or at the end."""

    def __init__(self, write: Callable[[Measurement, int], None]) -> None:
        self._write = write
        self._places: dict[tuple[type[Measurement], str], _Place] = {}

    def add(self, measurement: Measurement, step: int) -> None:
        now = time.monotonic()
        key = (type(measurement), measurement.where)
        place = self._places.get(key)
        if place is None:
            self._places[key] = _Place(now, now, 1, measurement)
            self._write(measurement, step)
        elif measurement == place.last:
            place.held = None
        elif place.count < AT_ONCE or _is_due(place, now):
            self._pass_on(place, measurement, step, now)
        else:
            place.held = (measurement, step)

    def write_held(self, *, everything: bool) -> None:
        now = time.monotonic()
        for place in self._places.values():
            if place.held is not None and (everything or _is_due(place, now)):
                self._pass_on(place, *place.held, now)

    def _pass_on(self, place: _Place, measurement: Measurement, step: int, now: float) -> None:
        self._write(measurement, step)
        place.written, place.last, place.held = now, measurement, None
        place.count += 1


def _is_due(place: _Place, now: float) -> bool:
    return now - place.written >= max(GAP_SECONDS, GAP_SHARE * (now - place.began))
