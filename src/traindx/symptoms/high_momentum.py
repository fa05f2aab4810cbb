"""high-momentum: momentum above the usual."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.usual_settings import above_usual
from traindx.thresholds import Threshold

ID = "high-momentum"
HIGH = Threshold(0.985, "momentum", "chosen by hand; usual recipes stay below it", strong=0.995)
USUAL = Threshold(0.95, "momentum", "chosen by hand; usual recipes reach it", side="below")


def detect(signals: Signals) -> Observation:
    return above_usual(ID, signals, "momentum", HIGH, USUAL)


SYMPTOM = Symptom(
    id=ID,
    title="momentum above the usual",
    severity="note",
    kind="setting",
    family="setting high-momentum",
    background=0.03,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings ask for more momentum than published recipes do.

## How it is measured
The setting beside 0.985 (plain from 0.995); up to 0.95 it is ruled out.

## Healthy range
Up to 0.95; between that and 0.985 it says nothing.

## What it usually means
Steps add up over hundreds of updates: the effective step is the rate by 1 - momentum.
""",
    detect=detect,
    cases=(
        Case("far above", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"momentum": 0.995}),
        Case("usual", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"momentum": 0.475}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
