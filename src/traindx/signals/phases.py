"""Several trainings one after the other in one recording: a teacher and its student, an autoencoder and what is built
on it, the folds of a cross-validation. Each has an optimiser with parameters of its own; the last one is judged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from traindx.run import Run, Series
from traindx.thresholds import Threshold

LOSS, RATE = "train_loss", "lr"  # of the first optimiser; '/optimizer1' and so on behind them for the others
VALUES = Threshold(20, "losses of the last optimiser", "fewer show no course")
SHARE = Threshold(0.2, "of all updates, made by the last optimiser", "an equal share of five folds")
JUDGED = ("loss", "score", "error", "perplexity")


def last_phase(run: Run) -> Run:
    """The recording with the losses, scores and rates of its last training, where one began after another had ended;
    else as it is."""
    found = list(_losses(run)) if run.measured else []
    apart = len(found) > 1 and all(before.last < after.steps[0] for before, after in pairwise(found))
    if not apart:
        return run
    last = found[-1]
    if not VALUES.reached(len(last)) or not SHARE.reached(len(last) / sum(map(len, found))):
        return run
    suffix = last.name.removeprefix(LOSS)
    start = float(last.steps[0])
    series: dict[str, Series] = {}
    for name, one in run.series.items():
        base = name.removesuffix(suffix)
        if base in (LOSS, RATE) and name.endswith(suffix):
            series[base] = replace(one, name=base, meaning=run.series.get(base, one).meaning)
        elif name.partition("/optimizer")[0] not in (LOSS, RATE):
            kept = _since(one, start)
            series |= {name: kept} if kept is not None else {}
    return replace(run, series=series)


def _losses(run: Run) -> Iterator[Series]:
    """Of each optimiser, in the order they were made."""
    number = 0
    while (one := run.series.get(f"{LOSS}/optimizer{number}" if number else LOSS)) is not None and len(one):
        yield one
        number += 1


def _since(one: Series, start: float) -> Series | None:
    """What was measured from this update on; None where all of it is of the trainings before."""
    if not len(one) or one.axis != "step" or one.meaning.kind not in JUDGED or one.steps[0] >= start:
        return one
    kept = one.steps >= start
    times = None if one.times is None else one.times[kept]
    return replace(one, steps=one.steps[kept], values=one.values[kept], times=times) if kept.any() else None
