"""warming-up: still warming up when the log ends."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling, flat, ramp, then

ID = "warming-up"
ROWS = 10  # values of the rate
RISES = 2.0  # times its first value, at the end


def detect(signals: Signals) -> Observation:
    rates = np.empty(0) if signals.lr is None else signals.lr.values[np.isfinite(signals.lr.values)]
    if len(rates) < ROWS or not rates.max() > 0:
        return Observation(ID, "unknown", "Too few learning rates were logged.")
    rising = bool(np.all(np.diff(rates) >= 0)) and rates[-1] > RISES * rates[0] and rates[-1] > rates[-2]
    text = f"The learning rate goes from {num(float(rates[0]))} to {num(float(rates[-1]))} in the log"
    ending = " and still rises: the warm-up is in progress." if rising else "."
    return Observation(ID, "present" if rising else "absent", text + ending)


SYMPTOM = Symptom(
    id=ID,
    title="still warming up when the log ends",
    severity="note",
    kind="setting",
    family="setting warm-up",
    background=0.03,
    needs=("learning rate",),
    doc="""
## What is observed
The learning rate rises all through the log and has not reached its peak.

## How it is measured
Ten logged rates or more, none lower than the one before, the last at least twice the first and still rising.

## Healthy range
A warm-up ends within the first tenth of a run.

## What it usually means
Too early to judge: a loss that hardly moves at a rate of next to nothing is no fault yet. A schedule that never
leaves its warm-up looks the same at the end of a run.
""",
    detect=detect,
    cases=(
        Case("still rising", "present", lambda: {"loss": falling(50, 2.0, 1.9), "lr": ramp(50, 1e-7, 1e-4, 0)}),
        Case("past its peak", "absent",
             lambda: {"loss": falling(100, 2.0, 1.0), "lr": then(ramp(10, 1e-6, 1e-3, 0), ramp(90, 1e-3, 1e-5, 0))}),
        Case("constant", "absent", lambda: {"loss": falling(50, 2.0, 1.0), "lr": flat(50, 1e-3, 0)}),
        Case("no rate", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
