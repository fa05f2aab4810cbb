"""A threshold is a value with a source: where the number comes from stands beside it, and on the symptom's page."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

Side = Literal["above", "below"]
UNFITTED = "chosen by hand; not fitted yet"
AT_THRESHOLD = 0.3  # clarity of a finding that only just reaches its threshold; it is 1 from the strong value on

Watcher = Callable[["Threshold", float], None]
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@dataclass(frozen=True)
class Threshold:
    """`value` is where a finding begins and `strong` where nobody would doubt it; `side` says which way both are
    reached. `source` is a reference, or how the value follows from something that is known. One without a reference is
    made by `fitted`."""

    value: float
    unit: str
    source: str
    strong: float | None = None
    side: Side = "above"
    name: str = ""  # of a fitted one

    def reached(self, measured: float) -> bool:
        """Whether a measured value is at the threshold or beyond it; NaN is not."""
        watcher = _watcher.get()
        if watcher is not None:
            watcher(self, measured)
        return measured >= self.value if self.side == "above" else measured <= self.value

    def clarity(self, measured: float) -> float:
        """How clear a finding is: 0.3 at the threshold, 1 from the strong value on, in between on a straight line."""
        if self.strong is None or self.strong == self.value:
            return 1.0
        share = (measured - self.value) / (self.strong - self.value)
        return float(min(1.0, max(AT_THRESHOLD, AT_THRESHOLD + (1 - AT_THRESHOLD) * share)))


def fitted(name: str, value: float, *, unit: str, strong: float | None = None, side: Side = "above") -> Threshold:
    """A threshold whose source is a fit on kept recordings: `benchmarks/zoo/thresholds.py` writes value and source into
    `thresholds.json` under this name, 'symptom-id.what'. `value` and `strong` are where the fit begins."""
    fit = _fits().get(name)
    if fit is None:
        return Threshold(value, unit, UNFITTED, strong, side, name)
    return Threshold(fit.get("value", value), unit, fit["source"], fit.get("strong", strong), side, name)


@cache
def _fits() -> dict[str, dict[str, Any]]:
    text = files("traindx").joinpath("thresholds.json").read_text(encoding="utf-8")
    fits: dict[str, dict[str, Any]] = json.loads(text)["thresholds"]
    return fits


@contextmanager
def comparisons(watcher: Watcher) -> Iterator[None]:
    """Tell the watcher of every comparison with a threshold: how the fit learns at which values runs are measured."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)
