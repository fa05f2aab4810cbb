"""Reading a learning-rate sweep: its noise, where the loss falls, where it falls fastest, and where it turns up for
good.

All of it works on differences to the loss each batch had before the sweep, so neither the sign of the loss nor easy and
difficult batches matter, and all thresholds are multiples of the curve's own noise or of its own descent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from traindx.run import Floats

WINDOW = 5  # sweep steps of the running median, which no pair of spikes moves, and of the mean after it
FEWEST = 12  # finite steps before a curve says anything
CERTAIN = 5.0  # standard deviations of the smoothed curve that a descent must reach
MIN_DESCENT = 1e-4  # of the loss: smaller descents are rounding
NO_DESCENT = "none of the rates that were tried brings the loss down"
TURNED = 0.2  # of the descent undone, beyond the noise: the edge has been passed
AT_EDGE = 0.05  # of the descent undone: still at the edge
SUSTAINED = 0.4  # decades over which a descent must hold
BEGUN = 0.05  # of the descent done: the rate is of use from here on
_MAD = 1.4826  # makes the median deviation a standard deviation for normal scatter


@dataclass(frozen=True)
class RateCurve:
    """`smooth` is the loss minus what each batch began with; rates ascend. `begin`, `steepest` and `edge` are rates:
    the first of use, the middle of the fastest sustained descent, the last before the loss turns up for good (None: it
    never does)."""

    rates: Floats
    raw: Floats
    smooth: Floats
    noise: float
    descent: float
    begin: float | None
    steepest: float | None
    edge: float | None
    refusal: str | None = None


def read_curve(rates: Floats, raw: Floats, size: float) -> RateCurve:
    """`raw` may end in a non-finite value: the sweep broke there. `size` is how large losses are here."""
    broke = len(raw) > 0 and not np.isfinite(raw[-1])
    good = np.isfinite(raw)
    rates, raw, broken_at = rates[good], raw[good], float(rates[-1]) if broke else None
    if len(raw) < FEWEST:
        nothing = np.empty(0)
        sentence = f"time was up after {len(raw)} updates"
        if broken_at is not None:
            sentence = f"the loss is not finite any more after {len(raw)} updates, at a rate of {broken_at:.2g}"
        return RateCurve(rates, raw, nothing, float("nan"), 0.0, None, None, broken_at, sentence)
    smooth = smoothed(raw)
    noise = scatter(raw, smooth)
    low = _lowest(smooth, noise)
    descent = -float(smooth[low])
    edge = _edge(rates, smooth, low, descent, noise)
    if edge is None and broken_at is not None:
        edge = float(rates[-1])
    error = noise / np.sqrt(WINDOW)
    if descent < max(CERTAIN * error, MIN_DESCENT * size):
        sentence = NO_DESCENT
        if error > MIN_DESCENT * size:
            sentence = (
                f"noise hides any descent: the lowest point is {descent:.3g} below the start, the noise of one update "
                f"is {noise:.2g}"
            )
        return RateCurve(rates, raw, smooth, noise, descent, None, None, edge, sentence)
    waiting = np.flatnonzero(smooth[:low] > -max(BEGUN * descent, 2 * error))
    begin = float(rates[int(waiting[-1]) + 1 if len(waiting) else 0])
    return RateCurve(rates, raw, smooth, noise, descent, begin, _steepest(rates, smooth, low), edge)


def smoothed(values: Floats) -> Floats:
    """A running median against spikes, then a running mean; windows shrink at the ends."""
    half = WINDOW // 2
    medians = np.array([np.median(values[max(0, i - half) : i + half + 1]) for i in range(len(values))])
    return np.array([medians[max(0, i - half) : i + half + 1].mean() for i in range(len(medians))])


def scatter(values: Floats, smooth: Floats) -> float:
    """The noise of one value, from the half of the curve with the lower rates."""
    half = max(FEWEST // 2, len(values) // 2)
    return _MAD * float(np.median(np.abs(values[:half] - smooth[:half])))


def _lowest(smooth: Floats, noise: float) -> int:
    """Where the curve is lowest; what comes after a clear rise does not count, for a sweep may fall back by luck."""
    best = 0
    for index, value in enumerate(smooth):
        if value < smooth[best]:
            best = index
        elif value > smooth[best] + max(CERTAIN * noise, 2 * abs(float(smooth[best]))) and index > best + WINDOW:
            break
    return best


def _edge(rates: Floats, smooth: Floats, low: int, descent: float, noise: float) -> float | None:
    after = smooth[low:] - smooth[low]
    turned = after > max(TURNED * descent, CERTAIN * noise)
    if not turned.any():
        return None
    first = int(np.argmax(turned))
    near = np.flatnonzero(after[:first] <= max(AT_EDGE * descent, noise))
    return float(rates[low + int(near[-1])])


def _steepest(rates: Floats, smooth: Floats, low: int) -> float:
    x = np.log10(rates[: low + 1])
    best, at = 0.0, float(rates[low])
    for start in range(len(x)):
        inside = (x >= x[start]) & (x <= x[start] + SUSTAINED)
        if x[-1] < x[start] + 0.9 * SUSTAINED or inside.sum() < 3:
            break
        slope = float(np.polyfit(x[inside], smooth[: low + 1][inside], 1)[0])
        if slope < best:
            best, at = slope, float(10 ** (x[inside].mean()))
    return at
