"""Which values of a long training are kept, so that a recording stays small however long it lasts.

Of each series the first values are kept, and after them about the same number for every doubling of its length, which is how
a curve is read: finely at the start, in proportion later. Values far out of the usual range are kept besides, and the
last ones.
"""

from __future__ import annotations

import math

WHOLE = 20_000  # values of a family of series ('lr', 'lr/group1'; 'grad_norm/…') that are all kept
LEAST = 128  # of each series, however large the family
SPIKY = ("train_loss", "grad_norm")  # series in which a single value can tell a story
FAR = 8.0  # mean deviations from the moving mean
MEMORY = 0.01  # weight of a new value in those
SETTLED = 100  # values before anything is called far
SPIKES = 0.25  # of the values kept may be such


class Thinning:
    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._families: dict[str, int] = {}
        self._usual: dict[str, tuple[float, float]] = {}
        self._spikes = 0
        self._kept = 0
        self._last: dict[str, tuple[int, float]] = {}  # the newest value of each series, where it was not kept

    def keep(self, step: int, values: dict[str, float]) -> dict[str, float]:
        """Those of a step's values that are written."""
        far = [self._is_far(name, values[name]) for name in SPIKY if name in values]
        spike = any(far) and self._spikes <= SPIKES * self._kept
        kept = {name: value for name, value in values.items() if self._counts(name) or spike}
        self._kept += 1 if kept else 0
        if len(kept) < len(values):
            for name, value in values.items():
                if name not in kept:
                    self._last[name] = (step, value)
        elif spike:
            self._spikes += 1
        if self._last:
            for name in kept:
                self._last.pop(name, None)
        return kept

    def rest(self) -> list[tuple[int, dict[str, float]]]:
        """The last value of every series that ended between two kept ones."""
        rows: dict[int, dict[str, float]] = {}
        for name, (step, value) in self._last.items():
            rows.setdefault(step, {})[name] = value
        self._last = {}
        return sorted(rows.items())

    def _counts(self, name: str) -> bool:
        count = self._seen.get(name, 0)
        self._seen[name] = count + 1
        family = name.partition("/")[0]
        if count == 0:
            self._families[family] = self._families.get(family, 0) + 1
        whole = max(LEAST, WHOLE // self._families[family])
        return count < whole or count % (1 << (count // whole).bit_length()) == 0

    def _is_far(self, name: str, value: float) -> bool:
        if not math.isfinite(value):
            return True
        mean, deviation = self._usual.get(name, (value, 0.0))
        distance = abs(value - mean)
        self._usual[name] = (mean + MEMORY * (value - mean), deviation + MEMORY * (distance - deviation))
        return distance > FAR * deviation and self._seen.get(name, 0) > SETTLED
