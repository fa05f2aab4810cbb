"""answers-cut-off: answers end at the maximum length instead of their own end."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PolicyObjective, SpecialTokens, TokenCounts
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import SAMPLES, counts_of, special_of, special_tokens, token_counts
from traindx.thresholds import Threshold

ID = "answers-cut-off"
CUT = Threshold(
    0.25,
    "of the samples are at the maximum length and do not end",
    "a maximum length is usually set at a 90 to 99 % quantile of the data: at most one in ten is cut",
    strong=0.6,
)
STRUCTURED = Threshold(0.5, "of the samples have a prompt and an answer", "running text is cut into windows on purpose")
ENDED = Threshold(
    0.9, "of the shorter samples end in an end token", "where most shorter ones do not, answers have no end to lose"
)
SHORTER = Threshold(3, "samples that are shorter", "fewer may end in such a token by chance")


WRITTEN = frozenset(("ratio", "policy-gradient"))  # objectives whose answers the policy writes itself


def judge(measured: Measured) -> Observation | None:
    if any(one.family in WRITTEN for one in measured.latest(PolicyObjective)):
        return None  # `length-at-limit` is about those
    counts = counts_of(measured)
    special = special_of(measured, counts)
    if counts is None or special is None or not SAMPLES.reached(counts.samples):
        return None
    # a sample whose labels are all ignored shows no answer, and its prompt fills the length
    answered = counts.structured + (counts.empty if counts.known_by == "labels" else 0)
    if not STRUCTURED.reached(answered / counts.samples):
        return None
    shorter = SHORTER.reached(special.complete) and ENDED.reached(special.ended / special.complete)
    if not shorter and not (special.template_ends and STRUCTURED.reached(special.own_markers / special.samples)):
        return None
    share = counts.at_limit_open / counts.samples
    if CUT.reached(share):
        text = (
            f"{counts.at_limit_open} of {counts.samples} training samples ({percent(share)}) fill the maximum of "
            f"{counts.longest} tokens and do not end: the answer is cut off."
        )
        return seen(ID, True, text, at=counts, clarity=CUT.clarity(share))
    text = (
        f"{percent(share)} of the training samples end at the maximum of {counts.longest} tokens without an end token."
    )
    return seen(ID, False, text, at=counts)


def _cut(number: int, *, structured: int = 32) -> tuple[TokenCounts, SpecialTokens]:
    return (
        token_counts(structured=structured, prompt=900, answer=500, at_limit=number, at_limit_open=number),
        special_tokens(complete=32 - number, ended=32 - number, end_counted=32 - number),
    )


SYMPTOM = Symptom(
    id=ID,
    title="answers cut off at the maximum length",
    severity="problem",
    family="counted tokens",
    background=0.002,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Many samples are exactly as long as the longest one, and their answer has no end: it was cut off.

## How it is measured
A recording knows prompt and answer by the chat template, by the markers of common formats or by labels that leave the
prompt out. It counts the samples of the greatest length whose last token is no end token: 25 % of all samples or more.
Shorter samples must end in such a token, or the template must put one behind answers: without that there is no end to
lose. Running text, which is cut into windows on purpose, is not judged.

## Healthy range
Few samples reach the maximum length.

## What it usually means
`max_length` is too small for the data. The model never sees the ends of long answers, and where the prompt fills the
length it sees no answer at all.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("two thirds are cut", "present", measured=_cut(21)),
        Case(
            "written by the policy",
            "unknown",
            measured=(*_cut(21), PolicyObjective(family="ratio", losses=9)),
        ),
        Case("one of ten", "absent", measured=_cut(3)),
        Case("windows of running text", "unknown", measured=_cut(29, structured=0)),
        Case(
            "all of one length, and no end token in use",
            "unknown",
            measured=(
                token_counts(structured=32, prompt=900, answer=500, at_limit=32, at_limit_open=32),
                special_tokens(complete=0, ended=0, end_counted=0, eos_counted=0),
            ),
        ),
        Case(
            "all are cut, and the template would end them",
            "present",
            measured=(
                token_counts(structured=32, prompt=900, answer=500, at_limit=32, at_limit_open=32),
                special_tokens(complete=0, ended=0, eos_counted=0, own_markers=32, template_ends=True),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
