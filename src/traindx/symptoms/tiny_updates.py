"""tiny-updates: the optimiser moves the weights by next to nothing."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from traindx.diagnosis import Observation
from traindx.run import Series
from traindx.signals import Signals
from traindx.signals.inside import learned, objective, only_matrices, travel, update_ratios
from traindx.symptoms import straight_path
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.recipes import cosine, falling, flat, ramp

ID = "tiny-updates"
MIN_POINTS = 5
TINY = 1e-5  # a tenth of the lower end of the usual range, 1e-4
STRONG_TINY = 1e-7
MOVES = 0.2  # of the first loss gone: small steps, but enough
UPDATES = 50  # after so many the distance from the start speaks for itself
NEAR = 0.01  # of the size of the weights; from-scratch training goes ten times as far and more
STILL = 0.001
UPPER = 0.75  # the upper quartile: warm-up and decay are small by plan, the body of the run counts


def detect(signals: Signals) -> Observation:
    curve = objective(signals)
    moving = curve is not None and (learned(curve) or (curve.sign > 0 and curve.reduction > MOVES))
    way = travel(signals.run, UPDATES)
    if way is not None and way[0] < NEAR and curve is not None and not moving:
        distance, updates = way
        return Observation(
            ID, "present",
            f"After {updates:.0f} updates the weights have moved by {num(distance)} of their norm (0.1 and more where "
            f"a training works), and {curve.name} hardly moves.",
            (0.0, updates), None, clarity(-math.log10(max(distance, 1e-30)), -math.log10(NEAR), -math.log10(STILL)),
        )  # fmt: skip
    begun = straight_path.hardly_left(signals) if way is not None else None
    if begun is not None:
        return replace(begun, id=ID)
    series = [one for one in only_matrices(update_ratios(signals.run)) if np.isfinite(one.values).sum() >= MIN_POINTS]
    if not series:
        return Observation(ID, "unknown", "No update-to-weight ratio was logged.")
    model = [one for one in series if not one.meaning.where]
    sizes = sorted((_size(one), index) for index, one in enumerate(model or series))
    # by layer the median layer speaks: single still layers are what unchanged-weights looks for
    size, index = sizes[len(sizes) // 2]
    middle = (model or series)[index]
    summary = f"{middle.name} is {num(size)} in the upper quartile of the run (healthy 1e-4 to 1e-2)"
    if size >= TINY:
        return Observation(ID, "absent", f"{summary}.")
    if curve is not None and moving:
        return Observation(ID, "absent", f"{summary}, small, but {curve.name} came down.")
    clear = clarity(-math.log10(max(size, 1e-30)), -math.log10(TINY), -math.log10(STRONG_TINY))
    return Observation(
        ID, "present", f"{summary}{'' if curve is None else f', and {curve.name} hardly moves'}.",
        (float(middle.steps[0]), float(middle.steps[-1])), middle.meaning.where or middle.name,
        clear if curve is not None else min(clear, 0.5),
    )  # fmt: skip


def _size(series: Series) -> float:
    return float(np.quantile(series.values[np.isfinite(series.values)], UPPER))


SYMPTOM = Symptom(
    id=ID,
    title="updates are tiny",
    severity="problem",
    family="updates",
    background=0.02,
    needs=("update-to-weight ratio",),
    doc="""
## What is observed
A step changes the weights by a vanishing share of their size, and the loss hardly moves.

## How it is measured
The norm of the update by the norm of the weight, as logged, from its logarithm, or from the two norms where both are
logged. The upper quartile over the run is taken, so that warm-up and decay do not count, and with series by layer the
median layer. Present below 1e-5, plain below 1e-7, unless the loss lost more than a fifth of its first value. Without
a loss it is reported with less weight. A recording also measures how far the weights are from where they began:
after fifty updates or more, less than 1 % of their size away without a moving loss is present, below 0.1 % plain; up
to 10 % where they came almost straight ahead and half of the loss or more is left (as `straight-path` measures it).

## Healthy range
About 1e-3 a step is the widely used rule of thumb, 1e-4 to 1e-2 the range in which ordinary runs lie; fine-tuning may
go lower and still learn. A ratio logged every k steps spans k steps.

## What it usually means
Learning rate too small or decayed to nothing, clipping far below the usual norm, an accumulated loss divided once too
often, or vanishing gradients. With weights kept in bfloat16 a change below 1/256 of a weight is rounded away entirely.
""",
    detect=detect,
    cases=(
        Case("a millionth of what is usual", "present",
             lambda: {"update_ratio": flat(100, 2e-9, 0.3), "loss": flat(100, 2.3, 0.004)}),
        Case("from logarithms by layer", "present",
             lambda: {f"update_ratio/fc{i}": flat(60, -7.5, 0.01, i) for i in range(4)} | {"loss": flat(60, 2.3,
                                                                                                        0.004)}),
        Case("ordinary steps that lead nowhere", "present",
             lambda: {"update_ratio": flat(100, 2e-5, 0.3), "weight_travel": ramp(100, 0.0, 0.003),
                      "loss": flat(100, 2.3, 0.004)}),
        Case("fine-tuning goes little way", "absent",
             lambda: {"update_ratio": flat(100, 2e-5, 0.3), "weight_travel": ramp(100, 0.0, 0.003),
                      "loss": falling(100, 2.3, 0.5)}),
        Case("small but learning", "absent", lambda: {"update_ratio": flat(100, 5e-6, 0.3),
                                                      "loss": falling(100, 2.3, 1.2)}),
        Case("decays on plan", "absent", lambda: {"update_ratio": cosine(200, 1e-3), "loss": flat(200, 1.0, 0.05)}),
        Case("usual size", "absent", lambda: {"update_ratio": flat(100, 1e-3, 0.2)}),
        Case("not logged", "unknown", lambda: {"loss": flat(100, 2.3, 0.004), "update_norm": flat(100, 1e-3, 0.5)}),
    ),
)  # fmt: skip
