"""A loss that was moving and then is the same number, to the last digit, although every batch differs: the outputs no
longer depend on the inputs, or are cut off where the loss is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.choose import discriminator_losses, generator_losses, usable
from traindx.signals.inside import printed_step

ROWS = 15  # at the end
DIGITS = 100.0  # printed steps in the value: fewer digits repeat by chance
DISTINCT = 5  # values of something else in those rows: batches differ


@dataclass(frozen=True)
class Standstill:
    """Where it came to rest, and at what."""

    series: Series
    since: float
    value: float
    rows: int


def standstill(signals: Signals) -> Standstill | None:
    """The training loss at rest while scores still differ from row to row; in an adversarial training both losses."""
    if signals.kind == "gan":
        found = [_at_rest(one) for one in (discriminator_losses(signals.run), generator_losses(signals.run)) if one]
        both = [one for one in found if one is not None]
        return max(both, key=lambda one: abs(one.value)) if len(both) == len(found) == 2 else None
    if signals.kind != "supervised" or signals.train is None:
        return None
    rest = _at_rest(signals.train.series)
    if rest is None or abs(rest.value) < DIGITS * printed_step(rest.series.values):
        return None
    others = [one for one in usable(signals.run, "score") if one.axis == rest.series.axis]
    moving = any(len(np.unique(one.values[one.steps >= rest.since])) >= DISTINCT for one in others)
    return rest if moving else None


def _at_rest(series: Series) -> Standstill | None:
    values = series.values
    if len(values) <= ROWS or not np.isfinite(values[-1]):
        return None
    other = np.flatnonzero(values != values[-1])
    if not len(other) or len(values) - 1 - other[-1] < ROWS:
        return None
    start = int(other[-1]) + 1
    return Standstill(series, float(series.steps[start]), float(values[-1]), len(values) - start)
