"""strong-dropout: dropout above the usual."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.usual_settings import above_usual
from traindx.thresholds import Threshold

ID = "strong-dropout"
HIGH = Threshold(0.6, "dropout", "chosen by hand; usual recipes stay below it", strong=0.8)
USUAL = Threshold(0.3, "dropout", "chosen by hand; usual recipes reach it", side="below")


def detect(signals: Signals) -> Observation:
    return above_usual(ID, signals, "dropout", HIGH, USUAL)


SYMPTOM = Symptom(
    id=ID,
    title="dropout above the usual",
    severity="note",
    kind="setting",
    family="setting strong-dropout",
    background=0.05,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings ask for more dropout than published recipes do.

## How it is measured
The setting beside 0.6 (plain from 0.8); up to 0.3 it is ruled out.

## Healthy range
Up to 0.3; between that and 0.6 it says nothing.

## What it usually means
More of the signal is dropped than is left to learn from.
""",
    detect=detect,
    cases=(
        Case("far above", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"dropout": 0.8}),
        Case("usual", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"dropout": 0.15}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
