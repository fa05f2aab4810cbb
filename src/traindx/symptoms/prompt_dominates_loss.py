"""prompt-dominates-loss: most of the tokens that count belong to prompts."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.token_counts import SAMPLES, counts_of, token_counts
from traindx.thresholds import Threshold

ID = "prompt-dominates-loss"
SHARE = Threshold(
    0.5,
    "of the counted tokens belong to prompts",
    "one half is where prompts outweigh answers; losses on prompts help where answers are short in "
    "number, not in length "
    "(Shi et al., Instruction Modelling, 2024)",
    strong=0.9,
)
STRUCTURED = Threshold(0.8, "of the samples have a prompt and an answer", "only such data has a prompt to leave out")


def judge(measured: Measured) -> Observation | None:
    counts = counts_of(measured)
    if counts is None or not SAMPLES.reached(counts.samples) or not counts.answer or not counts.counted:
        return None
    if not STRUCTURED.reached(counts.structured / counts.samples):
        return None
    share = counts.prompt_counted / max(1, counts.prompt_counted + counts.answer_counted)
    whole = counts.prompt_loss + counts.answer_loss
    cost = f", {percent(counts.prompt_loss / whole)} of the loss" if whole and counts.prompt_counted else ""
    if SHARE.reached(share):
        text = (
            f"{percent(share)} of the tokens that count in the loss{cost} belong to prompts, "
            f"{percent(1 - share)} to answers."
        )
        return seen(ID, True, text, at=counts, clarity=SHARE.clarity(share))
    if not counts.prompt_counted:
        return seen(ID, False, "Prompts are left out of the loss: only answers count.", at=counts)
    text = f"{percent(share)} of the tokens that count in the loss{cost} belong to prompts: answers are longer."
    return seen(ID, False, text, at=counts)


SYMPTOM = Symptom(
    id=ID,
    title="prompts dominate the loss",
    severity="problem",
    family=ID,
    background=0.01,
    needs=("loss function", "targets", "input tokens", "tokenizer"),
    doc="""
## What is observed
Most tokens that count in the loss belong to the prompts of instructions, not to their answers.

## How it is measured
A recording finds where answers begin, by the tokenizer's chat template or by the markers of common formats
(`### Response:`, `[/INST]`, `Answer:`), in 80 % of the samples or more, and counts the tokens on both sides that count
in the loss. Present from one half on.

## Healthy range
Prompts are left out, or answers are much longer than prompts: then counting both is a choice that hardly matters.

## What it usually means
Labels are a copy of the input, so that the model spends its capacity on predicting questions.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "short answers",
            "present",
            measured=(token_counts(structured=32, prompt=900, prompt_counted=900, answer=200),),
        ),
        Case(
            "long answers",
            "absent",
            measured=(token_counts(structured=32, prompt=300, prompt_counted=300, answer=900),),
        ),
        Case("prompts left out", "absent", measured=(token_counts(structured=32, prompt=900, answer=200),)),
        Case("running text", "unknown", measured=(token_counts(),)),
        Case(
            "a few samples with a question",
            "unknown",
            measured=(token_counts(structured=8, prompt=300, prompt_counted=300, answer=100),),
        ),
        Case("a log alone", "unknown"),
    ),
)
