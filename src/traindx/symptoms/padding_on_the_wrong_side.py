"""padding-on-the-wrong-side: a decoder is asked to continue padding."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import GenerationCalls, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "padding-on-the-wrong-side"
ROWS = Threshold(1, "rows end in padding", "a row that ends in padding is continued behind it, whatever the others do")


def judge(measured: Measured) -> Observation | None:
    absent: Observation | None = None
    for calls in measured.latest(GenerationCalls):
        if ROWS.reached(calls.right_padded):
            text = f"{calls.right_padded} of {calls.rows} prompts given to generate end in padding (right-padded)."
            return seen(ID, True, text, at=calls)
        if calls.uneven:
            absent = seen(ID, False, f"None of {calls.rows} prompts given to generate ends in padding.", at=calls)
    return absent


def _calls(right_padded: int, uneven: int = 8) -> GenerationCalls:
    return GenerationCalls(calls=2, rows=8, uneven=uneven, right_padded=right_padded, where="evaluate.py:12")


SYMPTOM = Symptom(
    id=ID,
    title="generation from right-padded prompts",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("a recording of a training that generates (traindx run)",),
    doc="""
## What is observed
A decoder model is given prompts that end in padding, and continues behind it.

## How it is measured
A recording looks at what `generate` of a model that is no encoder-decoder is given: rows whose attention mask, or whose
pad tokens, end before the row does.

## Healthy range
Prompts are padded on the left, or generated from one by one.

## What it usually means
`padding_side` was left at "right", which is right for training and wrong for generation.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("padded on the right", "present", measured=(_calls(5),)),
        Case("padded on the left", "absent", measured=(_calls(0),)),
        Case("all of one length", "unknown", measured=(_calls(0, uneven=0),)),
        Case("a log alone", "unknown"),
    ),
)
