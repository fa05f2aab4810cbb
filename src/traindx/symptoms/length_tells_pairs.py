"""length-tells-pairs: in nearly every pair the same side is the longer one."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, PreferencePairs
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "length-tells-pairs"
PAIRS = Threshold(64, "pairs", "fewer may be longer by chance")
ONE_SIDE = Threshold(
    0.95,
    "of the pairs whose chosen answer is the longer one",
    "chosen answers are longer in 50 to 70 % of the pairs of public preference sets (Singhal et al. 2023)",
    strong=0.99,
)
RANKED_RIGHT = Threshold(
    0.8, "of the pairs told apart at the end", "a model that has learnt nothing has not learnt length"
)


def judge(measured: Measured) -> Observation | None:
    for one in measured.latest(PreferencePairs):
        if one.longer is None or not PAIRS.reached(one.pairs):
            continue
        text = f"The chosen answer is the longer one in {percent(one.longer)} of {one.pairs} pairs"
        if ONE_SIDE.reached(one.longer) and RANKED_RIGHT.reached(one.right):
            text += f", and {percent(one.right)} are told apart: length alone is enough for that."
            return seen(ID, True, text, at=one, clarity=ONE_SIDE.clarity(one.longer))
        if not ONE_SIDE.reached(one.longer):
            return seen(ID, False, f"{text}.", at=one)
    return None


def _pairs(longer: float | None, right: float = 1.0) -> PreferencePairs:
    return PreferencePairs(looks=12, pairs=200, identical=0, margin=2.0, first_margin=0.0, right=right, longer=longer)


SYMPTOM = Symptom(
    id=ID,
    title="length alone tells the pairs apart",
    severity="problem",
    family="pair-length",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
In nearly all pairs the chosen answer is longer than the rejected one, and the model tells them apart.

## How it is measured
The lengths of both answers from the mask of the batch, in all pairs looked at. Present when the chosen one is longer in
95 % of at least 64 pairs and 80 % are told apart at the end.

## Healthy range
Chosen answers are longer in 50 to 70 % of the pairs of public preference sets.

## What it usually means
A reward model, or a policy trained on such pairs, can get everything right by counting tokens; what the pairs were
meant to teach is not needed. An evaluation on pairs of the same kind does not show it: compare answers of one length.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("always longer", "present", measured=(_pairs(1.0),)),
        Case("longer in three of five", "absent", measured=(_pairs(0.6),)),
        Case("always longer, and nothing is learnt", "unknown", measured=(_pairs(1.0, right=0.5),)),
        Case("lengths not known", "unknown", measured=(_pairs(None),)),
        Case("a log alone", "unknown"),
    ),
)
