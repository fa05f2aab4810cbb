"""One clock for all series of a run: a metric logged by epoch number beside one logged by iteration is moved onto the
iterations, by the wall times of both."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from traindx.run import Run, Series

_MIN_POINTS = 3
_APART = 3.0  # a counter this many times slower than the fastest is another counter, not a run that fell behind
_PROPORTIONAL = 0.98  # correlation with the fastest counter: both must count the same training


def align_clocks(run: Run) -> None:
    """Put every series that counts something slower (epochs) onto the fastest counter of the run (iterations)."""
    timed = [series for series in run.series.values() if series.times is not None and series.axis == "step"]
    timed = [series for series in timed if len(series) >= _MIN_POINTS]
    if not timed:
        return
    fastest = max(timed, key=lambda series: float(series.steps[-1]))
    for series in timed:
        if series.steps[-1] * _APART < fastest.steps[-1]:
            run.series[series.name] = _moved(series, fastest)


def _moved(series: Series, reference: Series) -> Series:
    assert series.times is not None
    assert reference.times is not None
    clock = np.interp(series.times, np.maximum.accumulate(reference.times), reference.steps)
    rises = np.diff(clock)
    if clock[-1] < _APART * series.steps[-1] or (rises < 0).any() or np.mean(rises > 0) < 0.8:
        return series  # the same counter, or times that say nothing: written after the training, or copied
    if np.ptp(series.steps) == 0 or np.corrcoef(series.steps, clock)[0, 1] < _PROPORTIONAL:
        return series
    return replace(series, steps=clock)
