"""rejected-likelier: the model that training begins from nearly always finds the rejected answer likelier."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PreferencePairs
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "rejected-likelier"
PAIRS = Threshold(64, "pairs", "fewer may lie so by chance")
LIKELIER = Threshold(
    0.15,
    "of the pairs whose chosen answer is the likelier one at first",
    "models that were trained on answers rank 40 to 60 % of the pairs of public sets as people do (Chen et al. 2024)",
    strong=0.05,
    side="below",
)


def judge(measured: Measured) -> Observation | None:
    for one in measured.latest(PreferencePairs):
        if one.likelier is None or not PAIRS.reached(one.pairs) or one.identical == one.pairs:
            continue
        text = f"Before training the model finds the chosen answer likelier in {percent(one.likelier)} of the pairs"
        if LIKELIER.reached(one.likelier):
            text += ". Look at some of them: they may be swapped."
            return seen(ID, True, text, at=one, clarity=LIKELIER.clarity(one.likelier))
        return seen(ID, False, f"{text}.", at=one)
    return None


def _pairs(likelier: float | None) -> PreferencePairs:
    return PreferencePairs(looks=12, pairs=200, identical=0, margin=2.0, first_margin=0.0, right=1.0, likelier=likelier)


SYMPTOM = Symptom(
    id=ID,
    title="the rejected answers are the likelier ones at first",
    severity="note",
    family="pair-order",
    background=0.03,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
At the first updates the model gives nearly every rejected answer a higher probability than the chosen one.

## How it is measured
The log-probabilities of both answers at the first three looks, as the objective sums them. Present when the chosen one
is the likelier in at most 15 % of at least 64 pairs.

## Healthy range
40 to 60 % in public sets. Where rejected answers are the model's own and chosen ones are people's, nearly none: then it
means nothing.

## What it usually means
Chosen and rejected were exchanged when the pairs were made. A score of the answers that falls in training says so too.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("none", "present", measured=(_pairs(0.0),)),
        Case("half of them", "absent", measured=(_pairs(0.5),)),
        Case("scores without probabilities", "unknown", measured=(_pairs(None),)),
        Case("a log alone", "unknown"),
    ),
)
