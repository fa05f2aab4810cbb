"""The figures an author expects on every page: how much data and how many updates a pass over it makes, training beside
validation, and how gradient norms spread. Facts, no findings: nothing here moves a probability."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from traindx.meaning import tokens_of
from traindx.measurements import BatchVariety, PassesOverData
from traindx.run import PROBES, Series
from traindx.signals import Signals, lookup
from traindx.signals.curve import Curve, counted
from traindx.signals.rates import CALLED, USUAL_LR, family_of, peak_lr
from traindx.symptoms.base import num

LARGE_NORM = 100.0  # the mark that guides call an exploding gradient: said with its count, judged nowhere
TOP = 1.5  # scores above it are given in percent
ALIKE = 0.01  # of the training loss: closer than that is no gap
MANY_TIMES = 5.0  # from five times on a factor is the easier number
FORMULAS = frozenset({"nll", "mse", "rmse", "mae", "l1", "l2", "ce", "bce", "huber", "kl", "dice", "focal"})
LAST = 3  # evaluations whose median is the gap
LONG, LONGEST = 1e5, 1e9  # between them a number is written out: 3300000, not 3.3e+06
PAIR = 2  # values from which on there is a spread


def figures(signals: Signals) -> tuple[str, ...]:
    """One sentence each; what the evidence does not hold is left out. Where there is room for few of
    them, the first ones stay."""
    gap, norms, data = list(_gap(signals)), list(_norms(signals)), list(_data(signals))
    return (*gap[:1], *norms[:1], *data, *gap[1:], *norms[1:], *_rate(signals))


def _rate(signals: Signals) -> Iterator[str]:
    """The rate it had at most, beside what is usual where it lies outside of that."""
    rate = peak_lr(signals)
    if rate is None or not math.isfinite(rate) or rate <= 0 or signals.run.config.get(PROBES):
        return  # probes see the first steps alone, and a warm-up there
    family = family_of(signals)
    low, high = USUAL_LR[family]
    usual = "" if low <= rate <= high else f" ({CALLED[family]}: usually {low:g} to {high:g})"
    yield f"Learning rate: {rate:.3g} at its highest{usual}."


def _data(signals: Signals) -> Iterator[str]:
    samples, batches = _size(signals)
    parts = []
    if samples:
        parts.append(f"{counted(float(samples))} training samples")
    if batches:
        parts.append(f"{counted(float(batches))} step{'s' if batches > 1 else ''} per epoch")
    parameters = lookup.number(signals.run.config, "parameters")
    if parameters and samples:
        parts.append(f"{parameters / samples:.3g} parameters per sample")
    if parts:
        yield f"Data: {', '.join(parts)}."


def _size(signals: Signals) -> tuple[int, int]:
    """Samples of the training data and updates of a pass over it; 0 where not known."""
    samples = batches = 0
    for measured in signals.run.measured[:1]:
        passes, variety = measured.last(PassesOverData), measured.last(BatchVariety)
        if passes is not None:
            samples, batches = passes.samples, passes.batches
        elif variety is not None:
            samples = variety.data
    stated, batch = (lookup.number(signals.run.config, name) for name in ("samples", "batch_size"))
    samples = samples or int(stated or 0)
    if not batches and samples and batch and batch >= 1:
        batches = math.ceil(samples / batch)
    return samples, batches or _counted_by_epochs(signals)


def _counted_by_epochs(signals: Signals) -> int:
    """From a training that counts steps and a validation that counts epochs."""
    train, val = signals.train, signals.val or signals.score
    if train is None or val is None or train.series.axis != "step" or val.series.axis != "epoch" or len(val) < PAIR:
        return 0
    epochs = len(np.unique(val.x))
    return round(float(train.x[-1] - train.x[0] + 1) / epochs)


def _gap(signals: Signals) -> Iterator[str]:
    """Training beside validation at the end: scores in points, losses in times and percent."""
    score, own = signals.score, signals.train_score
    held_out = score is not None and score.series.meaning.split in ("val", "test")
    if score and own and held_out and own.series.meaning.part == score.series.meaning.part:  # each with values
        there, here = _end(own), _end(score)
        over = _over(min(len(own), len(score)))
        scales = [1.0 if float(np.abs(one.y).max()) > TOP else 100.0 for one in (own, score)]
        if "acc" in score.name.lower():  # a share of the samples; what R² or a correlation means no percent says
            there, here = there * scales[0], here * scales[1]
            if scales[0] == scales[1]:  # one in percent and one as a share: what the other means is a guess
                size = _short(abs(there - here))
                points = f"{size} point{'' if size == '1' else 's'} {'higher' if here > there else 'lower'}"
                apart = points if abs(there - here) >= ALIKE * max(abs(there), 1.0) else "almost equal"
                yield f"Gap: {own.name} {num(there)} %, {score.name} {num(here)} % ({over}): {apart}."
        else:
            yield f"Gap: {own.name} {num(there)}, {score.name} {num(here)} ({over}): {_short(abs(there - here))} apart."
    val, train = signals.val, signals.train_epochs
    at = signals.train_at(val.x) if val is not None and len(val) else None
    if val is None or train is None or at is None or not len(at) or not _one_quantity(train, val):
        return
    if _still_trained(val, train):
        there, here = float(np.median(at[-LAST:])), _end(val)
        if math.isfinite(there) and math.isfinite(here):
            ends = f"{train.name} {num(there)}, {val.name} {num(here)} ({_over(min(len(at), len(val)))})"
            yield f"Gap: {ends}: {_apart(there, here)}."


def _still_trained(val: Curve, train: Curve) -> bool:
    """Whether the last evaluation is of the model that the page speaks of: from the second half of the training."""
    middle = float(train.x[0] / 2 + train.x[-1] / 2)
    return val.series.axis != train.series.axis or float(val.x[-1]) >= middle


def _one_quantity(one: Curve, other: Curve) -> bool:
    """Whether two curves may be of one loss: it has no gap to an error in other units, nor a likelihood to a root of
    squares."""
    said = [FORMULAS & set(tokens_of(curve.name)) for curve in (one, other)]
    kinds = {curve.series.meaning.kind for curve in (one, other)}
    return len(kinds) == 1 and (said[0] == said[1] or bool(said[0] & said[1]))


def _apart(there: float, here: float) -> str:
    """How far the validation loss lies from the training loss, and in percent where both have a size."""
    size = f"{_short(abs(here - there))} {'higher' if here > there else 'lower'}"
    if there <= 0 or here <= 0:
        return size if here != there else "equal"
    share = (here - there) / there
    if abs(share) < ALIKE:
        return "almost equal"
    return f"{size} ({share * 100:+.0f} %)" if share < MANY_TIMES else f"{_short(here / there)} times as high"


def _over(evaluations: int) -> str:
    return f"medians of the last {LAST} evaluations" if evaluations >= LAST else "at the end"


def _end(curve: Curve) -> float:
    """The level over the last evaluations, as it was logged."""
    return float(curve.logged(float(np.median(curve.y[-LAST:]))))


def _norms(signals: Signals) -> Iterator[str]:
    total = signals.grad_norm
    if total is not None:
        yield from _spread(total)
    layers = {series.name: _median(series) for series in signals.layer_grad_norms}
    weights = {name: value for name, value in layers.items() if math.isfinite(value) and value > 0}
    if len(weights) >= PAIR:
        low, high = min(weights, key=weights.__getitem__), max(weights, key=weights.__getitem__)
        yield (
            f"Gradient norms by layer (medians): {_short(weights[low])} in {_layer(low)} to {_short(weights[high])} in "
            f"{_layer(high)}, {_short(weights[high] / weights[low])} times as large."
        )


def _spread(series: Series) -> Iterator[str]:
    values = series.values[np.isfinite(series.values)]
    if len(values) < PAIR:
        return
    size = float(np.abs(values).max()) or 1.0  # squares of what a log may hold would overflow
    mean, spread = float((values / size).mean() * size), float((values / size).std() * size)
    text = (
        f"Gradient norm: mean {_short(mean)}, standard deviation {_short(spread)}, smallest {_short(values.min())}, "
        f"largest {_short(values.max())}"
    )
    above = int((values > LARGE_NORM).sum())
    yield f"{text}; {above} of {len(values)} above {LARGE_NORM:.0f}." if above else f"{text}."


def _short(value: float) -> str:
    """Two digits, as people write them: 180 and 1.2e-08, not 1.8e+02."""
    rounded = float(f"{value:.2g}")
    return f"{rounded:.0f}" if LONG <= abs(rounded) < LONGEST else f"{rounded:g}"


def _median(series: Series) -> float:
    values = series.values[np.isfinite(series.values)]
    return float(np.median(values)) if len(values) else math.nan


def _layer(name: str) -> str:
    return name.split("/", 1)[-1]
