"""exploding-gradients: the gradient norm leaves its band for good, in spikes that hurt the loss, or along the depth."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Floats
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.inside import depth_profile, layers, learned, nonfinite, objective
from traindx.signals.stats import mad_sigma, rolling_median
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.observed import from_fact
from traindx.symptoms.recipes import falling, flat, put, ramp, then

ID = "exploding-gradients"
MIN_POINTS = 10
BAND = 30.0  # times the early median, for good
PLAIN_BAND = 1000.0
SPIKE = 50.0  # times the running median
TAIL = 6.0  # robust sigmas of the logarithm of the norm
RECENT = 0.85
CLUSTER = 3
CLUSTER_ROWS = 20
EARLY = 0.2  # of the run sets the band
DEPTH_RATIO = 1e3  # first layer by last
ORDERED = 0.6
TOGETHER_ROWS = 5  # since the loss was best, in each of which
TOGETHER_NORM = 3.0  # times every norm before it, and
TOGETHER_LOSS = 1.1  # times the best loss; half of the rows
TOGETHER_HALF = 1.25  # times it
TOGETHER_CLEAR = 0.7
LARGE = 100.0  # the usual checklist figure; only mentioned, since a summed loss reaches it in good health


def detect(signals: Signals) -> Observation:
    curve = objective(signals)
    by_depth = _along_depth(signals, learned(curve))
    if by_depth is not None and by_depth.state == "present":
        return by_depth
    series = [signals.grad_norm] if signals.grad_norm is not None else layers(signals.run, "grad_norm", matrices=True)
    norms = [Curve(one) for one in series if np.isfinite(one.values).sum() >= MIN_POINTS]
    if not norms:
        return by_depth or Observation(ID, "unknown", f"Fewer than {MIN_POINTS} gradient norms were logged.")
    found = [look(norm, curve) for look in (_left_band, _spikes, _left_together) for norm in norms]
    for state in ("present", "unknown"):
        hits = [one for one in found if one is not None and one.state == state]
        if hits:
            return max(hits, key=lambda one: one.clarity)
    norm = norms[0]
    note = f" Norms above {LARGE:g} are a matter of scale here: they belong to this run from the start." * (
        norm.now > LARGE
    )
    return Observation(
        ID, "absent",
        f"{norm.name} does not climb and stay high: median {num(float(np.median(norm.y)))}, largest "
        f"{num(float(norm.y.max()))}.{note}",
    )  # fmt: skip


def _left_band(norm: Curve, curve: Curve | None) -> Observation | None:
    """The level at the end is far above the early one and the objective has not improved since it left."""
    early = float(np.median(norm.y[: max(5, round(len(norm) * EARLY))]))
    late = float(np.quantile(norm.y[-max(5, len(norm) // 10) :], 0.25))  # most of the end must be out, not half of it
    ratio = late / early if early > 0 else 0.0
    if ratio < BAND:
        return None
    inside = np.flatnonzero(norm.bins.median <= BAND * early)
    left = float(norm.bins.x[min(inside[-1] + 1, len(norm.bins.x) - 1)])
    summary = (
        f"{norm.name} was {num(early)} early on and at least {num(late)} at the end ({num(ratio)} times), from "
        f"step {num(left)} on"
    )
    place = norm.series.meaning.where or norm.name
    if curve is None:
        return Observation(ID, "unknown", f"{summary}; no loss tells whether that did harm.")
    if _improved(curve, _same_time(norm, curve, np.array([left]))[0]):
        return None
    return Observation(
        ID, "present", f"{summary}, and {curve.name} did not improve since.", (left, float(norm.x[-1])), place,
        clarity(math.log10(ratio), math.log10(BAND), math.log10(PLAIN_BAND)),
    )  # fmt: skip


def _left_together(norm: Curve, curve: Curve | None) -> Observation | None:
    """Every row since the loss was best has a norm far above all before, and a loss well above that best: two measures
    that agree in each of a handful of rows need no band."""
    if curve is None or curve.sign < 0 or curve.uncounted or curve.series.axis != norm.series.axis:
        return None
    best = int(np.argmin(curve.y))
    at, lowest, since = float(curve.x[best]), float(curve.y[best]), curve.y[best + 1 :]
    before, after = norm.y[norm.x <= at], norm.y[norm.x > at]
    if len(since) < TOGETHER_ROWS or len(after) < TOGETHER_ROWS or not len(before) or lowest <= 0:
        return None
    rose = since.min() >= TOGETHER_LOSS * lowest and np.median(since) >= TOGETHER_HALF * lowest
    if not rose or after.min() < TOGETHER_NORM * before.max():
        return None
    return Observation(
        ID, "present",
        f"{curve.name} was {num(lowest)} at best ({curve.at(at)}) and is {num(float(curve.y[-1]))} now, and all "
        f"{len(after)} values of {norm.name} since are above {num(float(after.min()))}, while none had been above "
        f"{num(float(before.max()))}.",
        (at, float(norm.x[-1])), norm.series.meaning.where or norm.name, TOGETHER_CLEAR,
    )  # fmt: skip


def _improved(curve: Curve, since: float) -> bool:
    bad = nonfinite(curve.series)
    if bad is not None and bad.lasting:
        return False
    before = curve.level_at(since)
    least = max(3 * curve.level_noise, 0.02 * abs(before))
    # what left its band just now has not had the time to show: then the objective must have got worse
    return before - curve.now > (least if curve.clock_share(since) < RECENT else -least)


def _spikes(norm: Curve, curve: Curve | None) -> Observation | None:
    """Norms far above their neighbourhood and above all of the early ones, each with a jump of the objective."""
    # the median of neighbouring bins, so that a cluster of spikes does not lift its own measure
    running = np.interp(norm.x, norm.bins.x, rolling_median(norm.bins.median, 7))
    usual = float(np.quantile(norm.y[: max(5, len(norm) // 4)], 0.9))
    positive = (norm.y > 0) & (running > 0)
    scatter = mad_sigma(np.log(norm.y[positive] / running[positive]))
    least = max(SPIKE, math.exp(min(TAIL * scatter, 500.0)))  # norms of some runs scatter over decades in good health
    high = np.flatnonzero((norm.y > least * running) & (norm.y > 0.2 * SPIKE * usual) & positive)
    high = high[high >= max(3, len(norm) // 20)]  # the first steps of a fresh model are wild
    if not len(high) or curve is None or len(curve) < 2 * MIN_POINTS:
        return None
    high = np.sort(high[np.argsort(norm.y[high])[-50:]])
    places = _same_time(norm, curve, norm.x[high])
    jumps = [_jump(curve, place) for place in places]
    hurt = high[[jump > 0 for jump in jumps]]
    cluster = len(hurt) >= CLUSTER and int((hurt[CLUSTER - 1 :] - hurt[: 1 - CLUSTER]).min()) <= CLUSTER_ROWS
    if not cluster and not any(jump > 1 for jump in jumps):
        return None  # a hard batch that the next step has forgotten
    top = int(hurt[np.argmax(norm.y[hurt])])
    factor = float(norm.y[top] / max(running[top], 1e-300))
    return Observation(
        ID, "present",
        f"{norm.name} jumps to {num(float(norm.y[top]))} at step {num(float(norm.x[top]))}, {num(factor)} times its "
        f"running "
        f"median, and {curve.name} jumps with it ({len(hurt)} such steps).",
        (float(norm.x[hurt[0]]), float(norm.x[hurt[-1]])), norm.series.meaning.where or norm.name,
        clarity(math.log10(factor), math.log10(SPIKE), math.log10(100 * SPIKE)),
    )  # fmt: skip


def _jump(curve: Curve, place: float) -> int:
    """0: the objective did not notice; 1: it jumped; 2: it jumped and stayed up for the next values."""
    index = int(np.searchsorted(curve.x, place))
    before, after = curve.y[max(0, index - 20) : index], curve.y[index : index + 6]
    if len(before) < 5 or not len(after):
        return 0
    base = float(np.median(before))
    least = max(8 * mad_sigma(before), 0.1 * abs(base))
    if after.max() - base < least:
        return 0
    stayed = float(np.median(after)) if len(after) >= 4 else float(after.min())
    return 2 if len(after) >= 2 and stayed - base > least else 1


def _same_time(norm: Curve, curve: Curve, steps: Floats) -> Floats:
    """Steps of the norm on the clock of the objective."""
    if norm.series.axis == curve.series.axis:
        return steps
    share = (steps - norm.x[0]) / max(float(norm.x[-1] - norm.x[0]), 1e-12)
    return np.asarray(curve.x[0] + share * (curve.x[-1] - curve.x[0]), dtype=np.float64)


def _along_depth(signals: Signals, works: bool | None) -> Observation | None:
    profile = depth_profile(layers(signals.run, "grad_norm", matrices=True))
    if profile is None:
        return None
    if profile.ratio < DEPTH_RATIO or profile.order > -ORDERED or works:
        return Observation(ID, "absent", f"Gradient norms along the depth: {profile.summary}.")
    clear = clarity(math.log10(profile.ratio), math.log10(DEPTH_RATIO), math.log10(DEPTH_RATIO) + 3)
    return Observation(
        ID, "present", f"Gradients grow towards the input: {profile.summary}.", profile.steps, profile.names[0],
        clear if works is False else min(clear, 0.5),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="gradients explode",
    severity="problem",
    family="gradient-size",
    background=0.03,
    needs=("gradient norm", "gradient norms by layer"),
    doc="""
## What is observed
The gradient norm grows far beyond what this run knew, and the loss suffers: for good, in spikes, or layer by layer
towards the input.

## How it is measured
For good: three quarters of the last tenth are more than 30 times the median of the first fifth (plain from 1000) and
the loss has not improved since the norm left that band; where that was only just now, the loss must have risen.
Spikes: norms of more than 50 times their running median, ten times the upper decile of the early ones and six sigmas
of their own (logarithmic) scatter, with a jump of the loss by 10 % and eight times its scatter at the same step that
lasts for the next values, or three of them within twenty rows: a hard batch that the next step has forgotten is none.
Along the depth: the first of at least three like layers has 1000 times the norm of the last and 80 % of the pairs
stand in order. The first steps of a fresh model are left out.

## Healthy range
Common checklists call norms above 100 exploding and want them below 10. The size depends on the model and on whether
the loss is summed or averaged: a summed loss over 64 samples has 64 times the norm. So traindx only mentions it, and
measures against the run itself: rising norms beside a falling loss are normal (warm-up, zero-initialised heads),
heavy-tailed norms too. The public chronicle of a 104-billion-parameter run shows norms near 1e5 for thousands of good
steps and 3.3e6 when it fails.

## What it usually means
Learning rate above what the curvature allows, no clipping in recurrent nets or transformers, initialisation too large,
bad samples, lost precision. Clipping hides an overshoot that a lower learning rate removes; look at which came first,
the norm or the loss.
""",
    detect=from_fact(ID, otherwise=detect),
    cases=(
        Case("leaves its band for good", "present",
             lambda: {"loss": then(falling(100, 9, 3.0), ramp(50, 3.0, 9.0, 0.02)),
                      "grad_norm": then(flat(100, 1.0, 0.3), flat(50, 4000.0, 0.2))}),
        Case("spikes that throw the loss", "present",
             lambda: {"loss": put(falling(300, 9, 3.0, 0.01), 150, 7.7, 7.5, 7.2, 6.9, 6.5, 6.0, 5.0),
                      "grad norm": put(flat(300, 1.0, 0.2), 150, 3.3e6, 900.0, 40.0)}),
        Case("grows towards the input", "present",
             lambda: {"loss": flat(60, 2.3, 0.004),
                      **{f"grad_norm/rnn.{i}.weight": flat(60, 10.0 ** (6 - i), 0.3, i) for i in range(7)}}),
        Case("large from the start, summed loss", "absent",
             lambda: {"loss": falling(200, 300, 40), "grad_norm": flat(200, 2500.0, 0.6)}),
        Case("rises while the loss falls", "absent",
             lambda: {"loss": falling(200, 9, 2.0), "grad_norm": ramp(200, 0.01, 1.0, 0.3)}),
        Case("one heavy-tailed norm, loss calm", "absent",
             lambda: {"loss": falling(300, 9, 3.0), "grad_norm": put(flat(300, 1.0, 0.2), 150, 120.0)}),
        Case("grows, no loss logged", "unknown", lambda: {"grad_norm": then(flat(100, 1.0, 0.3),
                                                                            flat(50, 4000.0, 0.5))}),
        Case("no norm logged", "unknown", lambda: {"loss": falling(100, 2.3, 0.4)}),
    ),
)  # fmt: skip
