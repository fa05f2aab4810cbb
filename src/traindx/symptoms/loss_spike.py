"""loss-spike: a sudden jump of the training loss."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from traindx.diagnosis import Observation
from traindx.run import Floats
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.stats import rolling_median
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, put, then
from traindx.thresholds import Threshold

ID = "loss-spike"
MIN_POINTS = 5
Z = 8.0  # robust z of a jump over the local level
WHOLE = 0.9  # of the spread in the whole run is the least that is believed anywhere in it
LOG_Z = 5.5  # the same for the ratio to the local level
RELATIVE = 0.15  # of the local level
OF_RANGE = 0.12  # of the whole descent
TAIL = 2.0  # times the run's own usual tail
OTHER_RISES = 1.1  # in a handful of values: times the next largest rise, which otherwise is just as much a spike
BEYOND = 1.5  # times the highest jump that chance brings in a run of this length
MANY_JUMPS = 500
SHORT = 30  # values: a local level cannot be told from the noise around it
APART = 3  # values between two spikes
FEW_SPIKES = 2  # spikes that did no harm are worth a note;
RARE = Threshold(
    0.002, "spikes a value", "one in 500; none of 59 labelled logs that are surely sick loses its symptom by it",
    side="below",
)  # fmt: skip
PASSING = 0.3  # and larger ones a line
WHOLE_DESCENT = 1.0
SMALL = 0.35  # of the whole descent, and nothing at all below this where
WENT_ON = 0.3  # of it was made after the jump
OPENING, LIKE = 0.2, 0.9  # of an epoch, and of the height
AFTER = 3  # values that must stay low for a recovery, in short runs and between bins: the fewest that have a median
BROAD = 3  # values at least: a single one is what the local search is for
COARSE = (1500, 200)  # blocks at the coarser scales
MANY = 100_000  # longer series are read in blocks whose maximum stands for them


@dataclass(frozen=True)
class Spike:
    step: float
    height: float
    base: float
    back: float | None  # the step at which the loss was back at its level, None if it never was


def detect(signals: Signals) -> Observation:
    if signals.kind == "rl":
        return Observation(ID, "unknown", "Losses in reinforcement learning jump as the data change; not judged.")
    curve = signals.train
    if curve is None or len(curve) < MIN_POINTS:
        return Observation(ID, "unknown", "Too few values of the training loss to see spikes.")
    if curve.uncounted:
        return Observation(
            ID, "unknown", f"{curve.name} is logged without steps: these may be results of several folds or models."
        )
    spikes = [one for one in find_spikes(curve) if not _begins_like_the_last(curve, one)] or _superseded(signals)
    if spikes and signals.kind == "gan":
        return Observation(
            ID, "unknown", "Losses of networks that train against each other jump by design; not judged."
        )
    if not spikes:
        return Observation(ID, "absent", f"No jump of {curve.name} stands out from its noise.")
    worst = max(spikes, key=lambda spike: spike.height - spike.base)
    several = f" ({len(spikes)} spikes, this is the largest)" if len(spikes) > 1 else ""
    ended = worst.step >= float(curve.x[-1])
    unrecovered = ", the last value" if ended else " and has not recovered"
    back = unrecovered if worst.back is None else f" and recovered by {curve.at(worst.back)}"
    lasting = worst.back is None
    better = signals.better_after(curve.clock_share(worst.step))
    if better is not None and lasting:
        return Observation(
            ID, "absent", f"{curve.name} steps up at {curve.at(worst.step)} and stays there, but {better.name} went on "
                          f"to its "
            "best: another loss is logged since.",
        )  # fmt: skip
    size = (worst.height - worst.base) / max(curve.top - curve.best, 1e-300)
    harmless = "" if lasting else _harmless(curve, worst, spikes, size, better is None)
    if harmless:
        text = f"{curve.name} jumped from {num(worst.base)} to {num(worst.height)} at {curve.at(worst.step)}{back}"
        return Observation(ID, "absent", f"{text}{harmless}.", noted=True)
    clear = 1.0 if lasting else clarity(size, OF_RANGE, WHOLE_DESCENT)
    if better is not None and not lasting:
        back, few = f"{back}; {better.name} reached its best later", len(spikes) <= FEW_SPIKES
        if (few and size < WHOLE_DESCENT) or RARE.reached(len(spikes) / len(curve)):
            text = f"{curve.name} jumped from {num(worst.base)} to {num(worst.height)} at {curve.at(worst.step)}{back}"
            return Observation(ID, "absent", f"{text}{several}.", noted=True)
        clear = min(clear, PASSING) if few else clear
    return Observation(
        ID, "present",
        f"{curve.name} jumped from {num(worst.base)} to {num(worst.height)} at {curve.at(worst.step)}{back}{several}.",
        (spikes[0].step, spikes[-1].step), curve.name, clear,
    )  # fmt: skip


def _begins_like_the_last(curve: Curve, spike: Spike) -> bool:
    """An epoch begins as high as the one before it did: samples sorted by their length, say."""
    before = spike.step - 1
    if curve.series.axis != "epoch" or before < curve.x[0] or spike.back is None or spike.step % 1 > OPENING:
        return False
    return float(np.interp(before, curve.x, curve.y)) >= LIKE * spike.height


def _harmless(curve: Curve, worst: Spike, spikes: list[Spike], size: float, alone: bool) -> str:
    """Why a jump that was made good again does not matter, or ''. `alone`: only the training loss tells."""
    if _on_the_way_down(curve, worst, spikes, size):
        return f": {percent(size)} of the whole descent, of which much was still to come"
    return "; it was at its best later" if alone and _a_row_among_many(curve, worst, spikes) else ""


def _on_the_way_down(curve: Curve, worst: Spike, spikes: list[Spike], size: float) -> bool:
    """Small, once or twice, and the loss fell much further since."""
    went_on = worst.base - curve.now > WENT_ON * (curve.top - curve.best)
    return went_on and len(spikes) <= FEW_SPIKES and size < SMALL


def _a_row_among_many(curve: Curve, worst: Spike, spikes: list[Spike]) -> bool:
    """Single rows of small batches, rare among thousands and followed by the best level of the run."""
    rare = RARE.reached(len(spikes) / len(curve)) and len(spikes) <= FEW_SPIKES
    next_row = np.searchsorted(curve.x, worst.step, side="right")
    at_once = worst.back is not None and next_row < len(curve) and worst.back <= curve.x[next_row]
    return bool(rare and at_once and curve.best_at > worst.step)


def _superseded(signals: Signals) -> list[Spike]:
    """Jumps in what a resumed run has replaced since."""
    for aside in signals.run.series.values():
        if aside.meaning.part == "superseded" and aside.meaning.kind == "loss":
            found = find_spikes(Curve(aside))
            if found:
                return found
    return []


def find_spikes(curve: Curve) -> list[Spike]:
    """All jumps that stand out from the local noise, from the level and from the whole descent."""
    if len(curve) < MIN_POINTS:
        return []
    return _short(curve) if len(curve) < SHORT else _long(curve)


def _long(curve: Curve) -> list[Spike]:
    """At three scales: single values (or the highest of a block, in very long runs), and medians of ever longer blocks,
    so that a spike of one step and one that lasts for hundreds are both seen."""
    descent = max(curve.top - curve.best, 1e-300)
    count = len(curve)
    found = _at_scale(curve, max(1, int(np.ceil(count / MANY))), descent, highest=True)
    for blocks in COARSE:
        if not found and count > 2 * blocks:
            found = _at_scale(curve, count // blocks, descent, highest=False)
    return found or _broad(curve, descent)


def _at_scale(curve: Curve, block: int, descent: float, *, highest: bool) -> list[Spike]:
    x, level, height = curve.x, curve.y, curve.y
    if block > 1:
        keep = len(level) // block * block
        pieces = level[:keep].reshape(-1, block)
        x = x[:keep].reshape(-1, block)[:, 0]
        level = np.median(pieces, axis=1)
        height = pieces.max(axis=1) if highest else level
    width = int(np.clip(len(level) // 20, 5, 51)) | 1
    base = rolling_median(level, width)
    above = height - base
    scale = 1.4826 * rolling_median(np.abs(level - base), 2 * width + 1)
    scale = np.maximum(scale, 0.25 * np.median(scale) + 1e-300)
    z = above / scale
    # a steep beginning lies above its own median too, but it comes from above: a jump comes from below
    before = np.full(len(height), np.inf)
    before[3:] = np.median(sliding_window_view(height[:-1], 3), axis=1)
    jump = (above > 0) & (height - before > 0.5 * above)
    # heavy tails are the run's own manner: a spike must stand out from them too
    usual = 1 - max(0.02, 6 / max(1, int(jump.sum())))
    tail = float(np.quantile(z[jump], usual)) if usual > 0 else 0.0
    hit = (
        jump
        & (z > max(Z, TAIL * tail, BEYOND * _expected_highest(z[jump])))
        & (above > RELATIVE * np.abs(base))
        & (above > OF_RANGE * descent)
    )
    if base.min() > 0 and level.min() > 0:  # multiplicative noise: batches that are often several times the median
        ratio = np.log(level / base)
        spread = 1.4826 * rolling_median(np.abs(ratio), 2 * width + 1)
        spread = np.maximum(spread, WHOLE * np.median(spread))  # a handful of neighbours may agree by chance
        hit &= np.log(height / base) > LOG_Z * np.maximum(spread, 1e-300)
    return _episodes(x, height, base, hit, width)


def _expected_highest(jumps: Floats) -> float:
    """How high the highest of so many jumps is by chance, if their tail goes on as it begins; 0 where they are too few
    to see a tail. Batches of uneven difficulty throw one value in a thousand far up, and a long log has many
    thousands."""
    if len(jumps) < MANY_JUMPS:
        return 0.0
    begin, end = 0.1, max(0.01, 20 / len(jumps))  # twenty: spikes themselves must not draw the tail
    low, high = np.quantile(jumps, [1 - begin, 1 - end])
    return float(high + (high - low) / np.log(begin / end) * np.log(end * len(jumps)))


def _recovered(values: Floats, limit: float, width: int) -> int | None:
    """The place from which the values stay below the limit: the first one whose next `width` values, or all that are
    left, lie below it by their median. One low value between high ones is no recovery."""
    for place in np.flatnonzero(values <= limit):
        if np.median(values[place : place + width]) <= limit:
            return int(place)
    return None


def _episodes(x: Floats, height: Floats, base: Floats, hit: NDArray[np.bool_], width: int) -> list[Spike]:
    places = np.flatnonzero(hit)
    if not len(places):
        return []
    groups = np.split(places, np.flatnonzero(np.diff(places) > APART) + 1)
    spikes = []
    for group in groups:
        peak = int(group[np.argmax(height[group])])
        # the median around a jump that lasts is half way up already: the level is that of the values before it
        before = height[max(0, group[0] - AFTER) : group[0]]
        level = min(float(base[peak]), float(np.median(before))) if len(before) == AFTER else float(base[peak])
        half = level + 0.3 * (height[peak] - level)
        later = int(group[-1]) + 1
        after = _recovered(height[later:], half, width)
        back = float(x[later + after]) if after is not None else None
        spikes.append(Spike(float(x[peak]), float(height[peak]), level, back))
    return spikes


def _broad(curve: Curve, descent: float) -> list[Spike]:
    """Excursions too long for the local window: a bin far above the ones before it that is come down from again."""
    y, x = curve.bins.median, curve.bins.x
    lowest = np.minimum.accumulate(y)
    above = y - lowest
    hit = (above > max(0.4 * descent, 6 * curve.level_noise)) & (above > 0.5 * np.abs(lowest))
    spikes = []
    for group in np.split(np.flatnonzero(hit), np.flatnonzero(np.diff(np.flatnonzero(hit)) > 1) + 1):
        if len(group) * len(curve) < BROAD * len(y):
            continue
        peak = int(group[np.argmax(y[group])])
        after = _recovered(y[peak:], lowest[peak] + 0.4 * above[peak], AFTER)
        if after is not None:
            spikes.append(Spike(float(x[peak]), float(y[peak]), float(lowest[peak]), float(x[peak + after])))
    return spikes


def _short(curve: Curve) -> list[Spike]:
    """In a handful of epochs: a jump of more than half of all that was gained so far, far beyond the usual change."""
    y, x = curve.y, curve.x
    spikes: list[Spike] = []
    for index in range(1, len(y)):
        before = y[:index]
        base = float(before[-1] if index < AFTER else np.median(before[-AFTER:]))
        rise = float(y[index] - base)
        usual = float(np.median(np.abs(np.diff(np.delete(y, index))))) if len(y) > AFTER else 0.0
        gained = max(float(before[0] - before.min()), 0.0)
        others = np.delete(np.diff(y), index - 1)
        later = -np.diff(y[index + 1 :])  # falls after its own return are swings of the same kind
        swing = OTHER_RISES * max(float(others.max(initial=0.0)), float(later.max(initial=0.0)))
        if rise > max(0.5 * gained, 4 * usual, 0.35 * abs(base), swing) and rise > 0:
            after = _recovered(y[index + 1 :], base + 0.4 * rise, AFTER)
            back = float(x[index + 1 + after]) if after is not None else None
            if not spikes or (spikes[-1].back is not None and spikes[-1].back <= x[index]):
                spikes.append(Spike(float(x[index]), float(y[index]), base, back))
    return spikes


SYMPTOM = Symptom(
    id=ID,
    title="loss spike",
    severity="problem",
    family="instability",
    background=0.08,
    needs=("training loss",),
    doc="""
## What is observed
The loss jumps within a few steps, once or again and again. Whether it comes back decides what it is worth.

## How it is measured
Against a rolling median, a jump must exceed eight robust standard deviations, twice the run's own 98 % tail (some
losses are heavy-tailed by nature; in long runs also one and a half times the highest jump which that tail brings by
chance), 15 % of the local level, 12 % of the whole descent, and five and a half times the usual ratio of a value to its
level. Excursions longer than the window are found on the binned curve. In runs of less than 30 values a jump must
exceed half of all progress so far, four times the usual change and every other rise. One or two that come back while
validation goes on to its best weigh little, single rows among thousands after which the loss itself was at its best
nothing, and a step that stays while validation goes on to its best is another loss
from there on. The page says where the largest one is and when the loss was back: a single low value between high ones
is no recovery, the values after it must stay low by their median. Beside adversarial losses only the reconstruction is
looked at: its calm rules this out, a jump of it says nothing.

## Healthy range
A recovered spike now and then is survivable in large-model training; a spike that does not come back is divergence.

## What it usually means
Recovering spikes: single bad batches, a step too large for a moment, half-precision kernels. Repeated spikes: learning
rate or Adam's epsilon, missing clipping. At the very beginning: missing warm-up. Look at the gradient norm just before:
a norm that jumps with the loss points to the batch, one that grew for many steps points to the step size.
""",
    detect=detect,
    cases=(
        Case("a small jump early on the way down", "absent",
             lambda: {"train_loss": put(falling(80, 3.1, 0.95, 0.01), 14, 2.3),
                      "eval_loss": (range(5, 80, 10), falling(8, 1.35, 0.91))}),
        Case("the reconstruction of an adversarial training jumps", "unknown",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": put(falling(200, 2.4, 0.8, 0.01), 120, 6.0)}),
        Case("the reconstruction of an adversarial training falls calmly", "absent",
             lambda: {"G_GAN": flat(200, 1.0, 0.3), "D_real": flat(200, 0.5, 0.3, 1),
                      "cycle_A": falling(200, 2.4, 0.8)}),
        Case("jump that recovers", "present", lambda: {"train_loss": put(falling(300, 2.4, 0.5), 200, 3.1, 2.6, 1.4,
                                                                         0.9)}),
        Case("jump with one low value after it, then high to the end", "present",
             lambda: {"lm loss": then(falling(200, 9.0, 3.4, 0.005),
                                      np.array([7.3, 4.1, 7.6, 7.2, 7.1, 7.0, 7.3, 7.1, 7.0, 7.0]))}),
        Case("climb at the start, then descent", "present",
             lambda: {"lm loss": (range(10, 210, 10),
                                  then(np.array([12.1, 14, 26.5, 20, 12.0]), falling(15, 9.5, 7.5, 0.01)))}),
        Case("jump in the last of seven epochs", "present", lambda: {"loss": [3.9, 2.9, 2.5, 2.2, 2.0, 1.9, 4.0]}),
        Case("noisy but ordinary", "absent", lambda: {"train_loss": falling(500, 2.4, 0.4, 0.2)}),
        Case("heavy-tailed batches", "absent",
             lambda: {"train_loss": falling(2000, 1, 0.1) * np.random.default_rng(1).lognormal(0, 0.6, 2000)}),
        Case("one batch in thousands is hard", "absent",
             lambda: {"train_loss": falling(20_000, 2.3, 1.0, 0.0) * np.random.default_rng(3).gamma(2.0, 0.5, 20_000)}),
        Case("a spike in a long and noisy run", "present",
             lambda: {"train_loss": put(falling(20_000, 2.3, 1.0, 0.2), 15_000, *[9.0] * 5)}),
        Case("a term is added and the score goes on", "absent",
             lambda: {"train_loss": then(falling(8, 0.12, 0.02), flat(16, 0.7)),
                      "val_acc": 1 - falling(24, 0.1, 0.01, 0.0)}),
        Case("single batches of a fine-tuning", "absent",
             lambda: {"train_loss": np.random.default_rng(1).lognormal(-2.3, 1.0, 40)}),
        Case("single batches that swing as much later on", "absent",
             lambda: {"loss": (range(1000, 9000, 1000), [2.17, 2.2, 3.52, 2.2, 3.03, 2.91, 3.03, 1.47])}),
        Case("three values", "unknown", lambda: {"train_loss": [1.0, 0.5, 2.0]}),
    ),
)  # fmt: skip
