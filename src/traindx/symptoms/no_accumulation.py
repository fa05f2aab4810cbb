"""no-accumulation: gradients are not accumulated."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling

ID = "no-accumulation"


def detect(signals: Signals) -> Observation:
    steps = lookup.number(signals.run.config, "accumulation")
    if steps is None:
        return Observation(ID, "unknown", "The settings do not tell whether gradients are accumulated.")
    return Observation(ID, "present" if steps <= 1 else "absent", f"Each update takes {num(steps)} backward passes.")


SYMPTOM = Symptom(
    id=ID,
    title="gradients are not accumulated",
    severity="note",
    kind="setting",
    family="setting accumulation",
    background=0.45,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings make one update of every backward pass.

## How it is measured
The number of passes an update takes, from the settings, is 1.

## Healthy range
Any number is fine where the loss is divided by it.

## What it usually means
A loss that is not divided by the number of passes cannot be the fault.
""",
    detect=detect,
    cases=(
        Case("one pass an update", "present", lambda: {"loss": falling(50, 2.0, 1.0)},
             {"gradient_accumulation_steps": 1}),
        Case("eight", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"gradient_accumulation_steps": 8}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
