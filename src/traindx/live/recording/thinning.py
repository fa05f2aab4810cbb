"""Which values of a long training are kept, so that a recording stays small however long it lasts.

Of each series the first values are kept, and after them about the same number for every doubling of its length, which
is how a curve is read: finely at the start, in proportion later. Values far out of the usual range are kept besides,
and the last ones."""

from __future__ import annotations

import math

WHOLE = 20_000  # values of a family of series ('lr', 'lr/group1'; 'grad_norm/…') that are all kept
MIN_KEPT = 128  # of each series, however large the family
SPIKY = ("train_loss", "grad_norm")  # series in which a single value can tell a story
FAR = 8.0  # mean deviations from the moving mean
MEMORY = 0.01  # weight of a new value in those
SETTLED = 100  # values before anything is called far
SPIKES = 0.25  # of the values kept may be such


class Thinning:
    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._families: dict[str, list[str]] = {}
        self._whole: dict[str, int] = {}  # values of each series that are all kept
        self._usual: dict[str, tuple[float, float]] = {}
        self._spikes = 0
        self._kept = 0
        self._last: dict[str, tuple[int, float]] = {}  # the newest value of each series, where it was not kept

    def keep(self, step: int, values: dict[str, float]) -> dict[str, float]:
        """Those of a step's values that are written."""
        spike = self._is_spike(values)
        seen, whole, kept = self._seen, self._whole, values
        for name in values:
            count = seen.get(name, 0)
            seen[name] = count + 1
            if count == 0:
                self._meet(name)
            if count >= whole[name] and count % (1 << (count // whole[name]).bit_length()) and not spike:
                if kept is values:
                    kept = dict(values)
                del kept[name]
                self._last[name] = (step, values[name])
        if kept:
            self._kept += 1
        if kept is values and spike:
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

    def _meet(self, name: str) -> None:
        """One more series: its family shares the room."""
        family = self._families.setdefault(name.partition("/")[0], [])
        family.append(name)
        whole = max(MIN_KEPT, WHOLE // len(family))
        if len(family) == 1 or whole != self._whole[family[0]]:
            self._whole.update(dict.fromkeys(family, whole))
        else:
            self._whole[name] = whole

    def _is_spike(self, values: dict[str, float]) -> bool:
        """Whether a value is far out of the usual range, and such values have not yet had their share of the room."""
        far = False
        for name in SPIKY:
            if name in values and self._is_far(name, values[name]):  # asked of each, since it learns the range
                far = True
        return far and self._spikes <= SPIKES * self._kept

    def _is_far(self, name: str, value: float) -> bool:
        if not math.isfinite(value):
            return True
        mean, deviation = self._usual.get(name, (value, 0.0))
        distance = abs(value - mean)
        self._usual[name] = (mean + MEMORY * (value - mean), deviation + MEMORY * (distance - deviation))
        return distance > FAR * deviation and self._seen.get(name, 0) > SETTLED
