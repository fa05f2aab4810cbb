"""special-tokens-doubled: samples begin with two begin-of-sequence tokens."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import GenerationCalls, Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import SAMPLES, counts_of, special_of, special_tokens, token_counts
from traindx.thresholds import Threshold

ID = "special-tokens-doubled"
DOUBLED = Threshold(0.5, "of the samples begin with two", "a fault of the code that builds them hits all samples")
ROWS = Threshold(2, "rows given to generate", "one may be a text that begins so")


def judge(measured: Measured) -> Observation | None:
    special = special_of(measured, counts_of(measured))
    absent: Observation | None = None
    if special is not None and special.bos is not None and SAMPLES.reached(special.samples):
        share = special.bos_doubled / special.samples
        if DOUBLED.reached(share):
            text = (
                f"{special.bos_doubled} of {special.samples} training samples ({percent(share)}) begin with two "
                f"begin-of-sequence tokens (token {special.bos})."
            )
            return seen(ID, True, text, at=special)
        absent = seen(ID, False, "Training samples begin with one begin-of-sequence token or none.", at=special)
    for calls in measured.latest(GenerationCalls):
        if ROWS.reached(calls.rows) and DOUBLED.reached(calls.bos_doubled / calls.rows):
            text = (
                f"{calls.bos_doubled} of {calls.rows} prompts given to generate begin with two begin-of-sequence "
                "tokens."
            )
            return seen(ID, True, text, at=calls)
    return absent


SYMPTOM = Symptom(
    id=ID,
    title="begin-of-sequence doubled",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Samples begin with the begin-of-sequence token twice.

## How it is measured
A recording finds the tokenizer and looks at the first two tokens that are no padding: in half of the training samples,
or of the prompts given to `generate`, both are the begin-of-sequence token.

## Healthy range
One such token, or none where the model was trained without.

## What it usually means
The chat template writes the token and the tokenizer adds it again when the text is encoded.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("twice everywhere", "present", measured=(token_counts(), special_tokens(bos_single=0, bos_doubled=32))),
        Case("once", "absent", measured=(token_counts(), special_tokens())),
        Case("none", "absent", measured=(token_counts(), special_tokens(bos_single=0))),
        Case(
            "twice in what is generated from",
            "present",
            measured=(GenerationCalls(calls=1, rows=4, uneven=0, right_padded=0, bos_doubled=4),),
        ),
        Case("a log alone", "unknown"),
    ),
)
