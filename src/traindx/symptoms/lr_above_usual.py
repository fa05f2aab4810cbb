"""lr-above-usual: learning rate above what its optimiser usually bears."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.usual_settings import rate_against_usual
from traindx.thresholds import Threshold

ID = "lr-above-usual"
BEYOND = Threshold(
    0.0,
    "powers of ten above the usual range",
    "defaults of the libraries and published recipes: 1e-6 to 3e-3 for Adam and its kin, 1e-4 to 0.5 for SGD",
    strong=1.0,
)


def detect(signals: Signals) -> Observation:
    return rate_against_usual(ID, signals, BEYOND, above=True)


SYMPTOM = Symptom(
    id=ID,
    title="learning rate above what its optimiser usually bears",
    severity="note",
    kind="setting",
    family="setting rate above",
    background=0.05,
    needs=("learning rate",),
    doc="""
## What is observed
The highest learning rate of the run lies above what its optimiser usually bears.

## How it is measured
The rate of the settings or of the log, whichever is higher, beside the usual range of the optimiser that the settings
or the name of the rate tell. One power of ten beyond is plain.

## Healthy range
Adam and its kin 1e-6 to 3e-3, SGD 1e-4 to 0.5.

## What it usually means
By itself little: small models bear more, fine-tuning needs less. Beside a loss that diverges or rests it names the
first suspect.
""",
    detect=detect,
    cases=(
        Case("Adam at 0.1", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"lr": 0.1, "optimizer": "Adam"}),
        Case("Adam at 1e-3", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"lr": 1e-3, "optimizer": "Adam"}),
        Case("no rate", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
