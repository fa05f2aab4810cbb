"""margin-zero: chosen and rejected answers are not told apart."""

from __future__ import annotations

import numpy as np

from traindx.diagnosis import Observation
from traindx.signals import Signals
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.policy import enough, late, named, span
from traindx.symptoms.recipes import flat, ramp
from traindx.thresholds import Threshold

ID = "margin-zero"
NO_MARGIN = Threshold(
    0.02,
    "of the implicit reward",
    "at this margin DPO's loss is within 0.01 of ln 2, its start",
    strong=0.005,
    side="below",
)
CHANCE = Threshold(0.07, "from one half", "three standard errors of an accuracy over 450 pairs", side="below")


def detect(signals: Signals) -> Observation:
    margin = named(signals, "margin")
    if margin is None or not enough(margin):
        return Observation(ID, "unknown", "No margin between chosen and rejected answers is logged in 20 rows.")
    size = float(np.median(np.abs(margin.values[np.isfinite(margin.values)][-len(margin) // 2 :])))
    text = f"{margin.name} is {num(late(margin))} lately"
    if not NO_MARGIN.reached(size):
        return Observation(ID, "absent", f"{text}: the two are told apart.")
    hits = [s for s in signals.run.of("score") if "accurac" in s.name.lower() and enough(s)]
    hit = late(hits[0]) if hits else 0.5
    if hits and hit and not CHANCE.reached(abs(hit - 0.5)):
        return Observation(ID, "absent", f"{text}, but {hits[0].name} is {num(hit)}: small margins of a small beta.")
    also = f" and {hits[0].name} {num(hit)}" if hits else ""
    return Observation(
        ID,
        "present",
        f"{text}{also} after {len(margin)} rows: chosen and rejected answers are treated "
        f"alike (below {num(NO_MARGIN.value)}).",
        span(margin),
        margin.name,
        NO_MARGIN.clarity(size),
    )


SYMPTOM = Symptom(
    id=ID,
    title="chosen and rejected answers are not told apart",
    severity="problem",
    family="preference",
    background=0.01,
    needs=("margin between chosen and rejected answers (rewards/margins)",),
    doc="""
## What is observed
The margin between the rewards of chosen and rejected answers stays at 0 and the accuracy at one half (or at 0, where
equal rewards count as wrong).

## How it is measured
The median size of the margin over the second half of at least 20 rows is at most 0.02, and the accuracy, where logged,
lies within 0.07 of one half or is 0.

## Healthy range
It starts at 0, because the policy equals the reference, and reaches 0.1 to several units within the first tenth.

## What it usually means
The reference model is the policy itself and moves with it, both answers of a pair are the same text (or become so by
truncation), nothing is trained, or the learning rate is far too small.
""",
    detect=detect,
    cases=(
        Case(
            "exactly zero",
            "present",
            lambda: {
                "loss": flat(40, 0.6931, 0),
                "rewards/chosen": flat(40, 0.0),
                "rewards/rejected": flat(40, 0.0),
                "rewards/margins": flat(40, 0.0),
                "rewards/accuracies": flat(40, 0.0),
            },
        ),
        Case(
            "noise around zero",
            "present",
            lambda: {
                "loss": flat(60, 0.6931, 0.001),
                "rewards/chosen": flat(60, 0.001, 1.0),
                "rewards/rejected": flat(60, 0.001, 1.0, 1),
                "rewards/margins": flat(60, 0.001, 2.0, 2),
                "rewards/accuracies": flat(60, 0.5, 0.05),
            },
        ),
        Case(
            "a small beta",
            "absent",
            lambda: {
                "loss": ramp(60, 0.693, 0.688),
                "rewards/chosen": flat(60, 0.01),
                "rewards/rejected": flat(60, 0.0),
                "rewards/margins": ramp(60, 0.0, 0.015),
                "rewards/accuracies": ramp(60, 0.5, 0.74),
            },
        ),
        Case(
            "it rises",
            "absent",
            lambda: {
                "loss": ramp(60, 0.693, 0.4),
                "rewards/chosen": ramp(60, 0.0, -0.5),
                "rewards/rejected": ramp(60, 0.0, -2.0),
                "rewards/margins": ramp(60, 0.0, 1.5),
                "rewards/accuracies": ramp(60, 0.5, 0.8),
            },
        ),
        Case(
            "five rows",
            "unknown",
            lambda: {
                "loss": flat(5, 0.693),
                "rewards/chosen": flat(5, 0.0),
                "rewards/rejected": flat(5, 0.0),
                "rewards/margins": flat(5, 0.0),
            },
        ),
        Case("no pairs", "unknown", lambda: {"loss": flat(60, 2.0)}),
    ),
)
