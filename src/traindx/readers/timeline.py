"""The time axis of a log: counters that start again, run backwards, are resumed, repeat themselves or are missing
become one clock that rises, and series are put in its order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from traindx.meaning import Meaning
from traindx.run import Axis, Event, Floats, Series

_MAX_RESTARTS = 100  # more than these in one run are noise in the counter
_FALLING = 5  # so many rows on end that only count down are no accident
MAX_RUNS = 1_000  # a counter that starts over more often does not count trainings


def newest_first(clock: Floats) -> bool:
    """Whether the log is written upside down: its counter only ever falls."""
    if not len(clock) or clock[-1] >= clock[0]:
        return False
    ticks = clock[np.isfinite(clock)]
    return (
        len(ticks) >= _FALLING and bool((ticks[1:] <= ticks[:-1]).all()) and bool(ticks[0] - ticks[-1] >= _FALLING - 1)
    )


def is_rising(clock: Floats) -> bool:
    """Whether every row has a tick and none falls back: the usual log, worth a short way round what follows."""
    return bool((clock[1:] >= clock[:-1]).all())


def restarts_in(ticks: Floats) -> list[Event]:
    """Where the counter of one training falls back by more than a few ticks: it was resumed from a checkpoint."""
    if len(ticks) < 3:
        return []
    moves = np.diff(ticks)
    falls = np.flatnonzero(moves < -2 * np.median(np.abs(moves)))[:_MAX_RESTARTS]
    return [
        Event("restart", f"went back from {ticks[fall]:g} to {ticks[fall + 1]:g} and went on", float(ticks[fall + 1]))
        for fall in falls.tolist()
    ]


def unrolled(steps: Floats, epochs: Floats, within: bool) -> Floats:
    """A counter that starts again every epoch becomes one that runs through."""
    if is_rising(steps):
        return steps
    known = np.flatnonzero(np.isfinite(steps))
    if len(known) < 2:
        return steps
    ticks = steps[known]
    falls = np.flatnonzero(np.diff(ticks) < 0) + 1
    if not len(falls):
        return steps
    per_epoch = epochs[known]
    with_epoch = np.isfinite(per_epoch).all()
    if with_epoch:
        rises = per_epoch[falls] > per_epoch[falls - 1]
        if rises.mean() < 0.8 and not within:
            return steps
        length = ticks.max() + (1 if ticks.min() == 0 else 0)
        base = (per_epoch - per_epoch.min()) * length
        # a counter that already runs through the epochs needs no help, however often it is repeated
        if not within and np.all(np.diff(np.maximum.accumulate(ticks)) >= 0) and _mostly_rising(ticks, per_epoch):
            return steps
    elif within or len(falls) > MAX_RUNS:
        length = ticks.max() + (1 if ticks.min() == 0 else 0)
        index = np.zeros(len(ticks))
        index[falls] = 1
        base = np.cumsum(index) * length
    else:
        return steps
    through = steps.copy()
    through[known] = base + ticks
    return through


def _mostly_rising(ticks: Floats, per_epoch: Floats) -> bool:
    """Whether the counter keeps rising from epoch to epoch: the median tick of each epoch grows with the epoch."""
    values = np.unique(per_epoch)
    medians = np.array([np.median(ticks[per_epoch == value]) for value in values[:50]])
    return bool(len(medians) > 1 and np.mean(np.diff(medians) > 0) > 0.8)


def epoch_ends(steps: Floats, epochs: Floats) -> tuple[Floats, Floats] | None:
    """Where each epoch ends on the step axis, learnt from rows that know both."""
    both = np.isfinite(steps) & np.isfinite(epochs)
    if both.sum() < 2:
        return None
    order = np.argsort(epochs[both], kind="stable")
    known_epochs, known_steps = epochs[both][order], np.maximum.accumulate(steps[both][order])
    last = np.append(np.diff(known_epochs) > 0, True)
    return (known_epochs[last], known_steps[last]) if last.sum() > 1 else None


def clock_of(steps: Floats, epochs: Floats, to_step: Callable[[], tuple[Floats, Floats] | None]) -> tuple[Floats, Axis]:
    """The best time axis for these rows: steps, epochs mapped to steps, epochs, or just their number."""
    count = len(steps)
    known = np.isfinite(steps)
    if 2 * np.count_nonzero(known) > count:
        if known.all():
            return steps, "step"
        return np.interp(np.arange(count), np.flatnonzero(known), steps[known]), "step"
    known = np.isfinite(epochs)
    if 2 * np.count_nonzero(known) > count:
        filled = epochs if known.all() else np.interp(np.arange(count), np.flatnonzero(known), epochs[known])
        ends = to_step()
        if ends is not None:
            return np.interp(filled, *ends), "step"
        return filled, "epoch"
    return np.arange(count, dtype=np.float64), "row"


def ordered(
    name: str, meaning: Meaning, clock: Floats, values: Floats, axis: Axis, times: Floats | None
) -> tuple[Series, Series | None]:
    """Ordered by clock. Where a run was resumed, what came later wins, and what it replaced is kept aside under
    '… (superseded)' when there is enough of it to tell a story."""
    superseded: Series | None = None
    if (clock[1:] < clock[:-1]).any():
        later = np.minimum.accumulate(clock[::-1])[::-1]
        keep = np.append(clock[:-1] < later[1:], True) | np.append(clock[:-1] == clock[1:], False)
        dropped = ~keep
        if dropped.sum() >= 5:
            aside = f"{name} (superseded)"
            order = np.argsort(clock[dropped], kind="stable")
            superseded = Series(
                aside, replace(meaning, part="superseded"), clock[dropped][order], values[dropped][order], axis
            )
        clock, values = clock[keep], values[keep]
        times = times[keep] if times is not None else None
        order = np.argsort(clock, kind="stable")
        clock, values = clock[order], values[order]
        times = times[order] if times is not None else None
    clock, values, times = _undouble(clock, values, times, axis)
    return Series(name, meaning, clock, values, axis, times), superseded


def _undouble(clock: Floats, values: Floats, times: Floats | None, axis: Axis) -> tuple[Floats, Floats, Floats | None]:
    """The same tick twice is a row written again (the last one counts) unless most ticks repeat: then the counter is
    just coarser than the rows (batches of one epoch), and they are spread evenly over the tick."""
    if (clock[1:] > clock[:-1]).all():
        return clock, values, times
    last = np.append(np.diff(clock) > 0, True)
    repeats = len(clock) / last.sum()
    if repeats == 1:
        return clock, values, times
    if repeats < 1.5:
        return clock[last], values[last], times[last] if times is not None else None
    ends = np.flatnonzero(last)
    starts = np.append(0, ends[:-1] + 1)
    counts = ends - starts + 1
    ticks = clock[last]
    width = np.append(np.diff(ticks), np.median(np.diff(ticks)) if len(ticks) > 1 else 1.0)
    offset = (np.arange(len(clock)) - np.repeat(starts, counts)) / np.repeat(counts, counts)
    return np.repeat(ticks, counts) + offset * np.repeat(width, counts), values, times
