"""huge-updates: the optimiser moves the weights by a large share of their size."""

from __future__ import annotations

import math

import numpy as np

from traindx.diagnosis import Observation
from traindx.measurements import InitialScales
from traindx.signals import Signals
from traindx.signals.curve import Curve
from traindx.signals.inside import OPENING, START, learned, left_over, objective, opening_ratio, ratio_curves, travel
from traindx.signals.progress import Progress
from traindx.symptoms.base import Case, Symptom, clarity, num, percent
from traindx.symptoms.recipes import falling, flat, put, ramp, then

ID = "huge-updates"
HUGE = 0.1  # ten times the upper end of the usual range, 1e-2
STRONG_SIZE = 0.5
HELD = 0.1  # of the run it must last
UPDATES = 10
FAR = 10.0  # times the size of the initial weights; small networks that learn end within 3
LOST = 100.0
OVERWRITTEN = 0.3  # of the weights, in each of the first updates: what the initialisation gave is gone at once,
GONE = 3.0  # and the weights end this many times their initial size away,
DRAWN = 3**-0.5  # standard deviation of torch's initial weights by 1/sqrt(fan-in)
UNSURE = 0.5  # clarity where no curve tells what came of it,
ADVANCES = 0.65  # and where one still falls and ends at its best: more is learnt than is forgotten
PER_ROOT = 0.5  # times the initial norm by the square root of the updates: a walk of usual steps stays below 0.1,
PLAIN_PER_ROOT = 1.5  # and this is 15 times as far
UNFITTED = 0.1  # with this much of the loss left: whatever was learnt was learnt in spite of it


def detect(signals: Signals) -> Observation:
    way = travel(signals.run, UPDATES)
    course = objective(signals)
    if way is not None and way[0] > FAR and course is not None and (not learned(course) or _lost(signals, way, course)):
        distance, updates = way
        clear = clarity(math.log10(distance), math.log10(FAR), math.log10(LOST))
        if learned(course):
            clear = clarity(math.log10(_pace(way)), math.log10(PER_ROOT), math.log10(PLAIN_PER_ROOT))
        return Observation(
            ID, "present",
            f"After {updates:.0f} updates the weights have moved by {num(distance)} times their initial norm "
            "(at most 3 in small networks that learn).",
            (0.0, updates), None, clear,
        )  # fmt: skip
    curves = ratio_curves(signals.run)
    if not curves:
        return Observation(ID, "unknown", "No update-to-weight ratio was logged.")
    at_once = _at_once(curves) * _usual_size(signals)
    if at_once >= GONE and course is not None and not learned(course):
        return Observation(
            ID, "present",
            f"One of the first updates changed the weights by {num(at_once)} times their own size (healthy 1e-4 to "
            f"1e-2), and {course.name} lost {percent(max(course.reduction, 0))} of its value.",
            (float(curves[0].x[0]), float(curves[0].x[:OPENING][-1])), None,
        )  # fmt: skip
    worst = max(curves, key=_held)
    held, opening = _held(worst), opening_ratio(curves) * _usual_size(signals)
    if opening > max(held, HUGE):
        summary = (
            f"The first {OPENING} updates change the weights by {num(opening)} of their size (healthy 1e-4 to 1e-2)"
        )
        size, steps, place = opening, (float(worst.x[0]), float(worst.x[:OPENING][-1])), None
    else:
        summary = (
            f"{worst.name} stays at {num(held)} over a tenth of the run"
            if held
            else f"The first {OPENING} updates change the weights by {num(opening)} of their size"
        )
        summary += " (healthy 1e-4 to 1e-2)"
        summary += f", the highest of {len(curves)}" * (len(curves) > 1 and held > 0)
        over = worst.x[worst.y >= HUGE] if held >= HUGE else worst.x
        size, steps, place = held, (float(over[0]), float(over[-1])), worst.series.meaning.where or worst.name
    if size < HUGE:
        return Observation(ID, "absent", f"{summary}.")
    curve = objective(signals)
    hidden = len(curves) > 1  # a single layer has nothing to lose: its initial weights mean nothing
    overwritten = hidden and opening >= OVERWRITTEN and way is not None and way[0] > GONE
    if learned(curve) and not (overwritten and curve is not None and left_over(curve) > UNFITTED):
        assert curve is not None
        return Observation(
            ID, "absent", f"{summary}, yet {curve.name} lost {percent(max(curve.reduction, 0))} of its value."
        )
    clear = clarity(math.log10(size), math.log10(HUGE), math.log10(STRONG_SIZE))
    most = UNSURE if curve is None else ADVANCES if Progress(curve).unfinished else 1.0
    return Observation(ID, "present", f"{summary}.", steps, place, min(clear, most))


def _lost(signals: Signals, way: tuple[float, float], course: Curve) -> bool:
    """The weights went so far in so few updates that nothing of their initialisation is left, and the loss did not end:
    a language model loses more than half of its loss by learning how often each token comes."""
    return _pace(way) > PER_ROOT and way[0] * _usual_size(signals) > GONE and left_over(course) > UNFITTED


def _pace(way: tuple[float, float]) -> float:
    distance, updates = way
    return distance / math.sqrt(max(updates, 1.0))


def _at_once(curves: list[Curve]) -> float:
    """The largest of the first updates, of the median layer: after it there may be nothing left to move."""
    layers = [one for one in curves if not one.series.meaning.where] or curves
    first = [one.y[:OPENING] for one in layers if one.x[0] <= START * one.x[-1] or len(one) <= OPENING]
    return max((float(np.median(row)) for row in zip(*first, strict=False)), default=0.0)


def _usual_size(signals: Signals) -> float:
    """How large the initial weights are by what torch draws, 1 at most: of weights that begin ten times smaller, as in
    textbooks (normal, 0.01), the first steps are a large share whatever the rate."""
    scales = [scale for one in signals.run.measured for look in one.all(InitialScales) for scale in look.scales]
    return min(1.0, float(np.median(scales)) / DRAWN) if scales else 1.0


def _held(ratio: Curve) -> float:
    """The highest level held over a tenth of the run, its beginning left out."""
    after = ratio.y[int(len(ratio) * START) :]
    width = max(5, round(len(ratio) * HELD))
    if len(after) < width:
        return 0.0
    starts = range(0, len(after) - width + 1, max(1, width // 2))
    return max(float(np.median(after[start : start + width])) for start in starts)


SYMPTOM = Symptom(
    id=ID,
    title="updates are huge",
    severity="problem",
    family="updates",
    background=0.02,
    needs=("update-to-weight ratio",),
    doc="""
## What is observed
Each step replaces a good part of the weights, so the model forgets faster than it learns.

## How it is measured
The norm of the update by the norm of the weight (as logged, from its logarithm, or from the two norms). Present when
the highest median over a tenth of the run, the first tenth left out, is above 0.1 in the model or in one weight
matrix, or the first five updates of the whole model are, and the loss did not lose half of its value; plain from 0.5.
Biases and normalisation gains are left out: they begin at or near zero, where any step is a large share. The first
updates matter because the weights then grow until the same step is a small share: in small networks that Adam
destroyed at a rate of 0.3 the ratio went from 0.98 to 0.16 within five steps, and healthy ones began below 0.025.

Where a recording sees the first updates change the weights of more than one layer by 0.3 of their size or more and the
weights end more than three times their initial size from where they began, half of the loss is not enough to rule this
out: a tenth of it must be left or less. Where the loss lost less than half but still falls and ends at its best, the
symptom is less clear: the model forgets less than it learns.

A recording also measures how far the weights are from where they began: ten times their initial size without learning
is present, a hundred times plain. Half of the loss is no learning where the weights went that far in few updates (half
of their initial size times the square root of the updates) and more than a tenth of the loss is left.

## Healthy range
1e-4 to 1e-2, with 1e-3 as the usual rule of thumb. For layers initialised at zero larger ratios are normal at first.

## What it usually means
Learning rate too high for this optimiser (Adam moves each weight by about the learning rate, whatever the gradient),
missing warm-up, gradients that are summed instead of averaged or never zeroed, weights initialised too small for the
step.
""",
    detect=detect,
    cases=(
        Case(
            "one update that leaves nothing to move",
            "present",
            lambda: {
                **{f"update_ratio/fc{i}": put(flat(60, 0.0), 0, 7.0) for i in range(3)},
                "train_loss": put(flat(60, 12.6, 0.3), 0, 2.0),
            },
        ),
        Case("a third of the weights a step", "present",
             lambda: {"update_ratio": flat(200, 0.31, 0.3), "loss": flat(200, 2.3, 0.05)}),
        Case("one layer, from step 80 on", "present",
             lambda: {"update_ratio/fc1": flat(200, 1e-3, 0.3),
                      "update_ratio/fc2": then(flat(80, 1e-3, 0.3), flat(120, 0.4, 0.3)),
                      "loss": then(falling(80, 2.3, 1.0), ramp(120, 1.0, 3.0))}),
        Case("the first steps throw everything away", "present",
             lambda: {"update_ratio": falling(200, 0.98, 1e-3, pace=60), "loss": flat(200, 2.3, 0.05)}),
        Case("the weights were thrown far away", "present",
             lambda: {"update_ratio": flat(200, 1e-2, 0.3), "weight_travel": ramp(200, 0.0, 60.0),
                      "loss": flat(200, 2.3, 0.05)}),
        Case("the weights were thrown far away, frequencies are learnt all the same", "present",
             lambda: {"update_ratio": flat(200, 1e-2, 0.3), "weight_travel": ramp(200, 0.0, 23.0),
                      "loss": falling(200, 4.9, 1.2)}),
        Case("the same way in a long training", "absent",
             lambda: {"update_ratio": flat(200, 1e-3, 0.3), "loss": falling(200, 4.9, 1.2),
                      "weight_travel": ([1000 * step for step in range(200)], ramp(200, 0.0, 23.0))}),
        Case("the first steps throw everything away, half is learnt all the same", "present",
             lambda: {"update_ratio/fc1": then(flat(20, 0.5, 0.1), flat(180, 0.1, 0.1)),
                      "update_ratio/fc2": then(flat(20, 0.5, 0.1), flat(180, 0.1, 0.1)),
                      "weight_travel": ramp(200, 0.0, 8.0),
                      "loss": falling(200, 2.3, 0.5)}),
        Case("a single layer that learns at large steps", "absent",
             lambda: {"update_ratio/fc": then(flat(20, 0.5, 0.1), flat(180, 0.1, 0.1)),
                      "weight_travel": ramp(200, 0.0, 8.0),
                      "loss": falling(200, 2.3, 0.3)}),
        Case("the first steps throw everything away, all is learnt", "absent",
             lambda: {"update_ratio": then(flat(20, 0.5, 0.1), flat(180, 0.1, 0.1)),
                      "weight_travel": ramp(200, 0.0, 8.0),
                      "loss": falling(200, 2.3, 0.02)}),
        Case("large at the start, learns", "absent",
             lambda: {"update_ratio": falling(200, 0.3, 1e-3, pace=60), "loss": falling(200, 2.3, 0.4)}),
        Case("one outlier", "absent", lambda: {"update_ratio": put(flat(200, 1e-3, 0.3), 100, 2.0),
                                               "loss": flat(200, 2.3, 0.05)}),
        Case("usual size", "absent", lambda: {"update_ratio": flat(100, 1e-3, 0.2)}),
        Case("not logged", "unknown", lambda: {"loss": falling(100, 2.3, 0.4)}),
    ),
)  # fmt: skip
