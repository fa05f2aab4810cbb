"""gradients-clipped: gradients are clipped."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling

ID = "gradients-clipped"


def detect(signals: Signals) -> Observation:
    clip = lookup.number(signals.run.config, "clip")
    if clip is None:
        return Observation(ID, "unknown", "The settings do not tell whether gradients are clipped.")
    if clip > 0:
        return Observation(ID, "present", f"Gradients are clipped at {num(clip)}.")
    return Observation(ID, "absent", "Gradients are not clipped.")


SYMPTOM = Symptom(
    id=ID,
    title="gradients are clipped",
    severity="note",
    kind="setting",
    family="setting clipping",
    background=0.3,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings name a threshold at which gradients are clipped.

## How it is measured
The setting, under any of its usual names, is above 0.

## Healthy range
0.1 to 10; 1 is the usual one.

## What it usually means
Spikes have another reason than missing clipping.
""",
    detect=detect,
    cases=(
        Case("clipped", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"max_grad_norm": 1.0}),
        Case("switched off", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"max_grad_norm": 0.0}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
