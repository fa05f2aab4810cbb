"""Numbers of one quantity over the looks of a whole training, in bounded memory."""

from __future__ import annotations

from collections import deque

LAST = 3  # looks that "last" is the mean of, and "first"
FIRST_KEPT = 64  # of the first looks,
LAST_KEPT = 192  # and of the last ones


class Track:
    """The first and the last numbers of a quantity, its count and its extremes."""

    def __init__(self) -> None:
        self.count = 0
        self.low = float("inf")
        self.high = float("-inf")
        self.total = 0.0
        self._first: list[float] = []
        self._last: deque[float] = deque(maxlen=LAST_KEPT)

    def add(self, value: float) -> None:
        if value != value:
            return
        self.count += 1
        self.total += value
        self.low, self.high = min(self.low, value), max(self.high, value)
        (self._first if len(self._first) < FIRST_KEPT else self._last).append(value)

    @property
    def mean(self) -> float:
        return self.total / self.count if self.count else 0.0

    @property
    def values(self) -> list[float]:
        """In order; of a long training without its middle."""
        return [*self._first, *self._last]

    @property
    def first(self) -> float:
        return _mean(self.values[:LAST])

    @property
    def last(self) -> float:
        return _mean(self.values[-LAST:])

    @property
    def early(self) -> float:
        """Mean over the first quarter of what is kept."""
        return _mean(self.values[: max(1, len(self.values) // 4)])

    @property
    def late(self) -> float:
        """Mean over the last quarter."""
        return _mean(self.values[-max(1, len(self.values) // 4) :])

    @property
    def halves(self) -> tuple[float, float]:
        half = max(1, len(self.values) // 2)
        return _mean(self.values[:half]), _mean(self.values[-half:])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else 0.0
