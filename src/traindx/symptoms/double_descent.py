"""double-descent: validation improves, worsens, then improves past its first best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, clarity, num
from traindx.symptoms.recipes import falling, put, ramp, then

ID = "double-descent"
MIN_POINTS = 12
HUMP = 0.12  # of the first best
DEEPER = 0.02


def detect(signals: Signals) -> Observation:
    val, train = signals.val, signals.train_epochs
    if signals.kind != "supervised" or val is None or len(val) < MIN_POINTS or train is None or len(train) < MIN_POINTS:
        return Observation(ID, "unknown", "Needs a validation and a training loss over many evaluations.")
    y, x = val.bins.median, val.bins.x
    edge = max(2, len(y) // 12)
    for peak in range(edge, len(y) - edge):
        before, after = y[:peak], y[peak + 1 :]
        first, second = float(before.min()), float(np.median(after[-max(1, edge) :]))
        wide = _width(y > first * (1 + HUMP / 2), peak) >= max(3, len(y) // 8)
        top = float(y[peak])
        calm = train.level_at(float(x[peak])) <= train.level_at(float(x[int(np.argmin(before))])) * 1.02
        if top == y.max() and peak == int(np.argmax(y)) and np.argmax(before) == 0 and before[0] > first * 1.02:
            continue
        if (
            top - first > max(HUMP * abs(first), 5 * val.level_noise)
            and first - second > DEEPER * abs(first)
            and wide
            and calm
        ):
            return Observation(
                ID, "present", f"{val.name} reached {num(first)}, rose to {num(top)} around {val.at(float(x[peak]))} "
                               f"and is "
                f"{num(second)} now, while the training loss kept falling.",
                (float(x[int(np.argmin(before))]), float(x[-1])), val.name,
                clarity((top - first) / abs(first), HUMP, 0.5),
            )  # fmt: skip
    return Observation(ID, "absent", f"{val.name} shows no second descent.")


def _width(high: NDArray[np.bool_], peak: int) -> int:
    """How many evaluations in a row around the peak are high: two bad ones apart are no hump."""
    low = np.flatnonzero(~high)
    left, right = low[low < peak], low[low > peak]
    return int((right[0] if len(right) else len(high)) - (left[-1] if len(left) else -1) - 1)


SYMPTOM = Symptom(
    id=ID,
    title="second descent of the validation loss",
    severity="note",
    family="generalisation",
    background=0.02,
    needs=("validation loss",),
    doc="""
## What is observed
The validation error falls, rises by a good deal, and then falls below its first best: over epochs here, over model
sizes when runs are compared.

## How it is measured
A hump of at least 12 % over the first best that lasts for several evaluations in a row, a last level below that best,
and a training loss that falls all through.

## Healthy range
Not a fault. The hump is where the model just manages to fit all training data (the interpolation threshold).

## What it usually means
There are three regimes. Left of the hump more capacity or training trades bias for variance, as the textbook says. At
the hump the model just manages to fit every training sample, and what it does between them is worst. Right of it there
are many ways to fit them, and training finds a smooth one: more parameters or steps help again.

Do not stop at the hump: what looked like overfitting was the threshold. Noisy labels and models that barely fit the
data show it most (Nakkiran et al., 2019).
""",
    detect=detect,
    cases=(
        Case("two bad evaluations apart", "absent",
             lambda: {"train_loss": falling(40, 0.15, 0.001),
                      "val_loss": put(put(falling(40, 0.3, 0.0005, 0.01), 9, 1.2), 12, 0.8)}),
        Case("hump, then better", "present",
             lambda: {"train_loss": falling(120, 2, 0.01, 0.01),
                      "val_loss": then(falling(30, 2, 1.0, 0.005), ramp(30, 1.0, 1.5, 0.005),
                                       ramp(60, 1.5, 0.7, 0.005))}),
        Case("ordinary overfitting", "absent",
             lambda: {"train_loss": falling(120, 2, 0.01, 0.01),
                      "val_loss": then(falling(30, 2, 1.0, 0.005), ramp(90, 1.0, 1.5, 0.005))}),
        Case("ordinary descent", "absent", lambda: {"train_loss": falling(60, 2, 0.1),
                                                    "val_loss": falling(60, 2, 0.3)}),
        Case("no validation", "unknown", lambda: {"train_loss": falling(60, 2, 0.1)}),
    ),
)  # fmt: skip
