"""What a handful of rows shows without a trend: a level that was left at once and by far."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from traindx.signals import Signals
from traindx.signals.choose import held_out_scores
from traindx.signals.curve import Curve
from traindx.signals.score import top_of

MIN_VALUES, MAX_VALUES = 3, 8  # values; more of them have levels (symptoms/ends_off_best.py)
LEFT = 1.5  # times the level before it: what two losses agree upon
FAR = 3.0  # times every value before it, for two rows in a row
FARTHEST = 5.0  # times every value before it, for one row of a training loss: batches differ by less
LOST = 0.5  # of the way from the first value to the best, on a logarithmic scale
OTHER_RISES = 3.0  # times every rise before it
KNEW = 0.3  # of the top of a score, before it was lost
KEPT = 0.25  # of its best: what is left of a score that fell at once


@dataclass(frozen=True)
class Thrown:
    """Where a curve left its level. `times`: how far above the level before, `above_all`: above every value before."""

    curve: Curve
    step: float
    before: float
    now: float
    rows: int
    times: float
    above_all: float

    @property
    def sentence(self) -> str:
        rows = "the last row" if self.rows == 1 else f"all {self.rows} rows since"
        before, now = f"{self.before:.4g}", f"{self.now:.4g}"
        return f"{self.curve.name} was {before} before {self.curve.at(self.step)} and is {now} in {rows}."


def loss_thrown_off(signals: Signals) -> tuple[Thrown, bool] | None:
    """The validation or training loss that left its level for good within a handful of rows, and whether that is
    certain: both losses did, or it went farther than batches differ."""
    if signals.kind != "supervised" or not signals.ordinary:
        return None
    found = [one for one in (_loss(c) for c in (signals.val, signals.train) if c is not None) if one is not None]
    if len({one.curve.name for one in found}) == 2:
        return max(found, key=lambda one: one.above_all), True
    for one in found:
        farthest = one.curve is signals.train and one.above_all >= FARTHEST
        if (farthest or (one.rows > 1 and one.above_all >= FAR)) and not _single_steps(one.curve):
            return one, True
    # one evaluation, one row of a noisy loss, or the first steps of all are no more than a doubt
    doubtful = next((one for one in found if one.above_all >= FAR), None)
    return (doubtful, False) if doubtful is not None else None


def _single_steps(curve: Curve) -> bool:
    """Rows of single optimiser steps: a large model may climb in its first ones and come back."""
    return curve.series.axis == "step" and float(np.median(np.diff(curve.x))) <= 1.0


def score_thrown_off(signals: Signals) -> Thrown | None:
    """A score of held-out data that was good and is nearly gone in the last of a handful of rows."""
    if signals.kind != "supervised":
        return None
    found = (_score(Curve(series, -1.0)) for series in held_out_scores(signals.run))
    return next((one for one in found if one is not None), None)


def _loss(curve: Curve) -> Thrown | None:
    """The place from which every value lies farthest above what was there before."""
    y, count = curve.y, len(curve)
    if not MIN_VALUES <= count < MAX_VALUES or curve.sign < 0 or curve.uncounted or float(y.min()) <= 0:
        return None
    found = [one for one in (_from(curve, place) for place in range(1, count)) if one is not None]
    return max(found, key=lambda one: one.above_all, default=None)


def _from(curve: Curve, place: int) -> Thrown | None:
    """Whether every value from this place on lies far above what was there before."""
    y, before, after = curve.y, curve.y[:place], curve.y[place:]
    level = float(before[-1] if before[-1] <= before.min() else before[-2:].max())
    lowest, best = float(after.min()), float(before.min())
    way = math.log(max(float(y[0]), lowest) / best)
    lost = math.log(lowest / best) / way if way > 0 else 0.0
    alone = lowest - level > OTHER_RISES * float(np.diff(before).max(initial=0.0))
    if lowest < LEFT * level or lost < LOST or not alone:
        return None
    times, above = lowest / level, lowest / float(before.max())
    return Thrown(curve, float(curve.x[place]), level, float(y[-1]), len(after), times, above)


def _score(curve: Curve) -> Thrown | None:
    """A score that was good and is nearly gone in the last rows."""
    values = -curve.y
    if not MIN_VALUES <= len(curve) < MAX_VALUES or curve.uncounted:
        return None
    best = int(np.argmax(values))
    top, before = top_of(curve.series.values), float(values[best])
    if before < KNEW * top or best == len(values) - 1:
        return None
    low = values <= KEPT * before
    rows = int(np.argmin(low[::-1])) if not low.all() else len(low)
    place = len(values) - rows
    if rows == 0 or float(values[:place].min(initial=before)) < 2 * KEPT * before:
        return None
    return Thrown(curve, float(curve.x[place]), before, float(values[-1]), rows, 1.0, 1.0)
