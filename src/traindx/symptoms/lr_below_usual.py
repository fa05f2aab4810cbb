"""lr-below-usual: learning rate below what its optimiser usually needs."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.recipes import falling
from traindx.symptoms.usual_settings import rate_against_usual
from traindx.thresholds import Threshold

ID = "lr-below-usual"
BEYOND = Threshold(
    0.0,
    "powers of ten below the usual range",
    "defaults of the libraries and published recipes: 1e-6 to 3e-3 for Adam and its kin, 1e-4 to 0.5 for SGD",
    strong=2.0,
)


def detect(signals: Signals) -> Observation:
    return rate_against_usual(ID, signals, BEYOND, above=False)


SYMPTOM = Symptom(
    id=ID,
    title="learning rate below what its optimiser usually needs",
    severity="note",
    kind="setting",
    family="setting rate below",
    background=0.03,
    needs=("learning rate",),
    doc="""
## What is observed
The highest learning rate of the run lies below what its optimiser usually needs.

## How it is measured
The rate of the settings or of the log, whichever is higher, beside the usual range of the optimiser that the settings
or the name of the rate tell. Two powers of ten beyond are plain.

## Healthy range
Adam and its kin 1e-6 to 3e-3, SGD 1e-4 to 0.5.

## What it usually means
By itself little: small models bear more, fine-tuning needs less. Beside a loss that diverges or rests it names the
first suspect.
""",
    detect=detect,
    cases=(
        Case("Adam at 1e-8", "present", lambda: {"loss": falling(50, 2.0, 1.0)}, {"lr": 1e-8, "optimizer": "Adam"}),
        Case("Adam at 1e-3", "absent", lambda: {"loss": falling(50, 2.0, 1.0)}, {"lr": 1e-3, "optimizer": "Adam"}),
        Case("no rate", "unknown", lambda: {"loss": falling(50, 2.0, 1.0)}),
    ),
)  # fmt: skip
