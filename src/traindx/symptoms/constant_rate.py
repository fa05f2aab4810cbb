"""constant-rate: the learning rate never changes."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import cosine, falling, flat

ID = "constant-rate"
ROWS = 10  # values of the rate
SAME = 0.999  # of the peak


def detect(signals: Signals) -> Observation:
    rates = np.empty(0) if signals.lr is None else signals.lr.values[np.isfinite(signals.lr.values)]
    if len(rates) < ROWS or not rates.max() > 0:
        return Observation(ID, "unknown", "Too few learning rates were logged.")
    low, high = float(rates.min()), float(rates.max())
    if low >= SAME * high:
        return Observation(ID, "present", f"The learning rate is {num(high)} from the first value to the last.")
    return Observation(ID, "absent", f"The learning rate goes from {num(high)} at most to {num(float(rates[-1]))}.")


SYMPTOM = Symptom(
    id=ID,
    title="the learning rate never changes",
    severity="note",
    kind="setting",
    family="setting schedule",
    background=0.45,
    needs=("learning rate",),
    doc="""
## What is observed
The learning rate is the same number from the first row to the last.

## How it is measured
Ten logged rates or more that differ by less than a thousandth.

## Healthy range
Common, and fine with Adam on small tasks.

## What it usually means
No schedule took the rate away; whether one is missing the curve must tell.
""",
    detect=detect,
    cases=(
        Case("one rate", "present", lambda: {"loss": falling(50, 2.0, 1.0), "lr": flat(50, 1e-3, 0)}),
        Case("a cosine", "absent", lambda: {"loss": falling(50, 2.0, 1.0), "lr": cosine(50, 1e-3)}),
        Case("no rate", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
