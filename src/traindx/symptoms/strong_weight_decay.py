"""strong-weight-decay: weight decay above the usual."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.signals.rates import decoupled
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.usual_settings import above_usual
from traindx.thresholds import Threshold

ID = "strong-weight-decay"
HIGH = Threshold(0.3, "weight decay", "chosen by hand; usual recipes stay below it", strong=1.0)
USUAL = Threshold(0.02, "weight decay", "chosen by hand; usual recipes reach it", side="below")
COUPLED = 6.0  # times as strong where it is added to the gradient (Adam, SGD)


def detect(signals: Signals) -> Observation:
    times = 1.0 if decoupled(signals) else COUPLED
    return above_usual(ID, signals, "weight_decay", HIGH, USUAL, times)


SYMPTOM = Symptom(
    id=ID,
    title="weight decay above the usual",
    severity="note",
    kind="setting",
    family="setting strong-weight-decay",
    background=0.05,
    needs=("settings of the run",),
    doc="""
## What is observed
The settings ask for more weight decay than published recipes do.

## How it is measured
The setting beside 0.3 (plain from 1.0); up to 0.02 it is ruled out. Where it is added to the gradient (plain Adam,
SGD) it counts six times.

## Healthy range
Up to 0.02; between that and 0.3 it says nothing.

## What it usually means
A decay that pulls the weights to zero faster than the gradient moves them.
""",
    detect=detect,
    cases=(
        Case("far above", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"weight_decay": 1.0}),
        Case("usual", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"weight_decay": 0.01}),
        Case("not stated", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
