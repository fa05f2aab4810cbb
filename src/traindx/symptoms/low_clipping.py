"""low-clipping: gradients are clipped at a tiny threshold."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals, lookup
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.recipes import falling
from traindx.thresholds import Threshold

ID = "low-clipping"
TINY = Threshold(0.05, "clipping threshold", "published recipes clip at 0.1 or above", side="below")


def detect(signals: Signals) -> Observation:
    clip = lookup.number(signals.run.config, "clip")
    if clip is None or not clip > 0:
        return Observation(ID, "unknown", "The settings name no threshold at which gradients are clipped.")
    text = f"Gradients are clipped at {num(clip)}."
    return Observation(ID, "present" if TINY.reached(clip) else "absent", text)


SYMPTOM = Symptom(
    id=ID,
    title="gradients are clipped at a tiny threshold",
    severity="note",
    kind="setting",
    family="setting low clipping",
    background=0.05,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings clip gradients at a threshold far below the usual ones.

## How it is measured
The setting beside 0.05.

## Healthy range
0.1 to 10.

## What it usually means
Nearly every step is cut, and the rate no longer says how long it is.
""",
    detect=detect,
    cases=(
        Case("at 0.001", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"max_grad_norm": 0.001}),
        Case("at 1", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"max_grad_norm": 1.0}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
