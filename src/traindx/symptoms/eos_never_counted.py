"""eos-never-counted: end-of-sequence is never a target, so that nothing teaches the model to stop."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, SpecialTokens, TokenCounts
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import counts_of, predicts_next, special_of, special_tokens, token_counts
from traindx.thresholds import Threshold

ID = "eos-never-counted"
WHOLE = Threshold(6, "samples whose end is in the batch", "below, one odd sample is more than a tenth of them")
ENDED = Threshold(0.5, "of the samples end in an end token", "the data is made to end with it when most samples do")
COUNTED = Threshold(
    0.05,
    "of the ends count in the loss",
    "a collator masks all of them or none; the rest is for ends that are recognised wrongly",
    side="below",
)
STRUCTURED = Threshold(0.8, "of the samples have a prompt and an answer", "only an answer has to end")
ANSWER = Threshold(3, "tokens of an answer", "an answer of one word needs no end: it is read at its position")
MASKED, MISSING = 1.0, 0.85  # clarity: an end that is masked, and one that may be written in another way


def judge(measured: Measured) -> Observation | None:
    counts = counts_of(measured)
    special = special_of(measured, counts)
    if counts is None or special is None or special.eos is None or not predicts_next(counts):
        return None
    if not WHOLE.reached(special.complete):
        return None
    if counts.structured and counts.answer and not counts.answer_counted:
        return None  # no answer counts at all: that its end does not is no fault of its own
    if ENDED.reached(special.ended / special.complete):
        return _ended(special)
    return _without_end(counts, special)


def _ended(special: SpecialTokens) -> Observation:
    if not COUNTED.reached(special.end_counted / special.ended):
        text = f"{special.end_counted} of {special.ended} end tokens behind training samples count in the loss."
        return seen(ID, False, text, at=special)
    why = " The pad token has the same number, and padding is ignored." if special.pad == special.eos else ""
    text = (
        f"None of {special.ended} end-of-sequence tokens behind training samples counts in the loss.{why}"
        if not special.end_counted
        else f"{special.end_counted} of {special.ended} end-of-sequence tokens behind training samples count.{why}"
    )
    return seen(ID, True, text, at=special, clarity=MASKED)


def _without_end(counts: TokenCounts, special: SpecialTokens) -> Observation | None:
    """No sample ends with such a token: a fault where answers are taught that should."""
    if not STRUCTURED.reached(counts.structured / counts.samples) or not counts.answer_counted:
        return None
    if not ANSWER.reached(counts.answer / counts.structured) or not COUNTED.reached(special.ended / special.complete):
        return None
    text = f"None of {special.complete} answers in training ends in an end-of-sequence token (token {special.eos})."
    return seen(ID, True, text, at=special, clarity=MISSING)


_SFT = token_counts(structured=32, prompt=900, answer=500)

SYMPTOM = Symptom(
    id=ID,
    title="end-of-sequence never counted",
    severity="problem",
    family=ID,
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Training samples end in end-of-sequence tokens that never count in the loss, or answers do not end in any. Nothing
teaches the model to stop: it generates until the limit.

## How it is measured
A recording looks at samples whose end is in the batch: shorter than the longest, or followed by padding. Where at least
half of them end in end-of-sequence (or another special token that ends a turn), at most 5 % of these count as targets.
Where hardly any ends so, answers must be known as such (by template, markers or labels) and be longer than two tokens;
running text needs no end.

## Healthy range
The token behind every answer is a target that counts.

## What it usually means
`pad_token = eos_token` together with a collator that ignores all padding, or texts to which no end token was added.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "masked with the padding", "present", measured=(_SFT, special_tokens(pad=2, end_counted=0, eos_counted=0))
        ),
        Case(
            "texts that end, masked",
            "present",
            measured=(token_counts(), special_tokens(pad=2, end_counted=0, eos_counted=0)),
        ),
        Case(
            "no end token behind answers",
            "present",
            measured=(_SFT, special_tokens(ended=0, end_counted=0, eos_counted=0)),
        ),
        Case("counted", "absent", measured=(_SFT, special_tokens())),
        Case(
            "running text", "unknown", measured=(token_counts(), special_tokens(ended=0, end_counted=0, eos_counted=0))
        ),
        Case(
            "answers of one word",
            "unknown",
            measured=(
                token_counts(structured=32, prompt=900, answer=32),
                special_tokens(ended=0, end_counted=0, eos_counted=0),
            ),
        ),
        Case("windows without an end", "unknown", measured=(_SFT, special_tokens(complete=0, ended=0, end_counted=0))),
        Case(
            "masked language modelling",
            "unknown",
            measured=(token_counts(next=30), special_tokens(end_counted=1, eos_counted=1)),
        ),
        Case("a tokenizer without such a token", "unknown", measured=(_SFT, special_tokens(eos=None))),
        Case("a log alone", "unknown"),
    ),
)
