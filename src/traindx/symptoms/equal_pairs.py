"""equal-pairs: the two answers of a pair are the same."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PreferencePairs
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "equal-pairs"
PAIRS = Threshold(16, "pairs looked at", "one batch may hold a few duplicates")
SHARE = Threshold(0.3, "of the pairs", "published sets of pairs hold a few per cent of duplicates", strong=0.8)


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(PreferencePairs):
        if not PAIRS.reached(one.pairs):
            continue
        share = one.identical / one.pairs
        if SHARE.reached(share):
            return seen(
                ID, True, f"In {percent(share)} of {one.pairs} pairs the chosen and the rejected answer have the same "
                          f"log-probability: they are the same text, and teach nothing.", at=one,
                clarity=SHARE.clarity(share),
            )  # fmt: skip
        found = found or seen(
            ID, False, f"{percent(share)} of {one.pairs} pairs have two equal answers.", at=one
        )  # fmt: skip
    return found


SYMPTOM = Symptom(
    id=ID,
    title="pairs of two equal answers",
    severity="problem",
    family="preference",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The chosen and the rejected answer of many pairs have exactly the same log-probability or score.

## How it is measured
The two numbers of each pair, as the loss gets them, at each look.

## Healthy range
None, or a few duplicates.

## What it usually means
The two columns were filled from the same field, cut to a common beginning by a short maximum length, or masked so
that only the prompt is left.""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("all of them", "present", measured=(
            PreferencePairs(looks=6, pairs=48, identical=48, margin=0, first_margin=0, right=0),)),
        Case("different ones", "absent", measured=(
            PreferencePairs(looks=6, pairs=48, identical=1, margin=0.1, first_margin=0, right=0.6),)),
        Case("one batch of four", "unknown", measured=(
            PreferencePairs(looks=1, pairs=4, identical=4, margin=0, first_margin=0, right=0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
