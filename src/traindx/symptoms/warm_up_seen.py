"""warm-up-seen: the learning rate warms up."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling, flat, ramp, then
from traindx.thresholds import Threshold

ID = "warm-up-seen"
LOW_START = Threshold(0.5, "of the peak rate, at first", "warm-ups begin at a tenth of it or less", side="below")
EARLY_PEAK = Threshold(0.3, "of the logged rates before the peak", "warm-ups take 1 to 10 % of a run", side="below")
ROWS = 10  # values of the rate


def detect(signals: Signals) -> Observation:
    steps = lookup.number(signals.run.config, "warmup")
    if steps is not None and steps > 0:
        return Observation(ID, "present", f"A warm-up of {num(steps)} is configured.")
    rates = np.empty(0) if signals.lr is None else signals.lr.values[np.isfinite(signals.lr.values)]
    if len(rates) < ROWS or not rates.max() > 0:
        return Observation(ID, "unknown", "Neither settings nor logged rates tell whether it warms up.")
    first, peak = float(rates[0]), float(rates.max())
    low, early = LOW_START.reached(first / peak), EARLY_PEAK.reached(int(np.argmax(rates)) / len(rates))
    text = f"The learning rate begins at {num(first)} and is {num(peak)} at its peak."
    return Observation(ID, "present" if low and early else "absent", text)


SYMPTOM = Symptom(
    id=ID,
    title="the learning rate warms up",
    severity="note",
    kind="setting",
    family="setting warm-up",
    background=0.4,
    needs=("learning rate",),
    doc="""
## What is observed
The learning rate is raised from a small value at the beginning.

## How it is measured
A setting says so, or the logged rate begins below half of its peak and reaches it within the first 30 % of the rows.

## Healthy range
1 to 10 % of the steps for transformers and large batches.

## What it usually means
An early spike has another reason than a missing warm-up.
""",
    detect=detect,
    cases=(
        Case("configured", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"warmup_steps": 100}),
        Case("in the log", "present",
             lambda: {"loss": falling(100, 2.0, 1.0), "lr": then(ramp(10, 1e-6, 1e-3, 0), ramp(90, 1e-3, 1e-5, 0))}),
        Case("full rate at once", "absent", lambda: {"loss": falling(50, 2.0, 1.0), "lr": flat(50, 1e-3, 0)}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
