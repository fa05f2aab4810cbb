"""What a log reports outright: in the words of a message, or as a counter of bad values."""

from __future__ import annotations

import re

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Run
from traindx.symptoms.base import num


def said(identifier: str, run: Run, pattern: re.Pattern[str], unless: str = "\0") -> Observation | None:
    """The finding of the first message that matches; the pattern's first group, if any, names the place."""
    for event in run.events:
        match = pattern.search(event.text)
        if match is None or unless in event.text.lower():
            continue
        place = next((group for group in match.groups() if group), None)
        steps = None if event.step is None else (event.step, event.step)
        text = " ".join(event.text[max(0, match.start() - 20) :].split())[:140]
        return Observation(identifier, "present", f"The log says: {text}", steps, place)
    return None


def counted(identifier: str, run: Run, target: str, share: float = 0.0) -> Observation | None:
    """The finding of a counter of non-finite values that is above zero in more than `share` of its rows."""
    for series in run.of("nonfinite"):
        hit = np.flatnonzero(series.values > 0)
        if series.meaning.part != target or not len(hit) or len(hit) <= share * len(series):
            continue
        first, last = float(series.steps[hit[0]]), float(series.steps[hit[-1]])
        text = f"{series.name} is above zero in {len(hit)} of {len(series)} rows, first at step {num(first)}."
        return Observation(identifier, "present", text, (first, last), series.meaning.where or series.name, 0.8)
    return None


def counters(run: Run, target: str) -> bool:
    """Whether such a counter was logged at all."""
    return any(len(series) and series.meaning.part == target for series in run.of("nonfinite"))
