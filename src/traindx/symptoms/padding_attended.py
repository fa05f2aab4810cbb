"""padding-attended: the padding before a sample changes what the model makes of it."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import AttendedPadding, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "padding-attended"
CHANGE = Threshold(
    1e-3,
    "of the largest output: the change by another token in the padding",
    "single precision rounds at 1e-7 and half precision at 1e-3 of a number; the noise of equal calls is compared, too",
    strong=1e-2,
)
NOISE = Threshold(10, "times the difference of two equal calls", "rounding differs by less between equal calls")
SMALLEST = 1e-12  # stands for a difference of zero


def judge(measured: Measured) -> Observation | None:
    tried = measured.last(AttendedPadding)
    if tried is None:
        return None
    if CHANGE.reached(tried.change) and NOISE.reached(tried.change / max(tried.noise, SMALLEST)):
        text = (
            f"Another token in the {tried.padding} tokens of padding before a sample changes its outputs by "
            f"{percent(tried.change)} of the largest: the model attends to padding."
        )
        return seen(ID, True, text, at=tried, clarity=CHANGE.clarity(tried.change))
    return seen(ID, False, "Another token in the padding before a sample changes none of its outputs.", at=tried)


def _tried(change: float) -> AttendedPadding:
    return AttendedPadding(padding=20, tokens=30, change=change, noise=1e-7, where="train.py:30")


SYMPTOM = Symptom(
    id=ID,
    title="padding is attended to",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens"),
    doc="""
## What is observed
What a model makes of a sample depends on the padding before it.

## How it is measured
A recording takes the training sample with the most padding on its left and calls the model once more on it, with
another token in place of one pad token, without gradients and with everything put back. Present where outputs of the
sample change by more than 0.1 % of the largest, and by ten times more than between two equal calls. Padding behind a
sample cannot change a causal model and is not tried.

## Healthy range
No output of a sample depends on padding.

## What it usually means
The model is called without `attention_mask`, or with one of ones everywhere, on samples that are padded on the left.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("no attention mask", "present", measured=(_tried(0.2),)),
        Case("hidden by the mask", "absent", measured=(_tried(0.0),)),
        Case("rounding", "absent", measured=(_tried(5e-7),)),
        Case("a log alone", "unknown"),
    ),
)
