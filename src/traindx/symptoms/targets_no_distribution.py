"""targets-no-distribution: targets of cross-entropy that are no distribution."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import LossCall, Measured, TargetRowSums
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "targets-no-distribution"
SUM = fitted(f"{ID}.sum", 1.5, unit="sum of a target row; label smoothing and mixing of samples keep it at 1")
EACH = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
SHARE = fitted(f"{ID}.share", 0.05, unit="of the target rows")


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(TargetRowSums) if one.sums]
    for one in looks:
        share = sum(map(SUM.reached, one.sums)) / len(one.sums)
        if SHARE.reached(share):
            text = (
                f"{percent(share)} of the target rows of cross_entropy sum to {SUM.value:g} or more: several labels "
                "for one sample, but it expects one."
            )
            return seen(ID, True, text, at=one)
    if looks:
        return seen(ID, False, "The target rows of cross_entropy sum to 1.", at=looks[0])
    calls = measured.all(LossCall)
    if calls and all(one.loss in EACH for one in calls):
        return seen(ID, False, f"{calls[0].loss} takes each label by itself.", at=calls[0])
    return None


SYMPTOM = Symptom(
    id=ID,
    title="targets of cross-entropy that are no distribution",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
`cross_entropy` is given rows of targets that sum to more than 1: several labels for one sample.

## How it is measured
A recording sums the rows of targets that are given as probabilities. At least 5 % of them sum to 1.5 or more. A
binary cross-entropy takes each label by itself, so it rules this out.

## Healthy range
Rows sum to 1, also with label smoothing and mixing of samples.

## What it usually means
A multi-label task with a loss for one label a sample; `BCEWithLogitsLoss` is the right one. Or counts that were not
normalised.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("several labels", "present", measured=(TargetRowSums(sums=(1, 1, 2, 2, 3), where="train.py:9"),)),
        Case("one in twenty rows", "present", measured=(TargetRowSums(sums=(*[1] * 19, 2)),)),
        Case("one in fifty rows", "absent", measured=(TargetRowSums(sums=(*[1] * 49, 2)),)),
        Case("a loss for each label", "absent", measured=(LossCall(loss="binary_cross_entropy_with_logits"),)),
        Case("another loss", "unknown", measured=(LossCall(loss="mse_loss"),)),
        Case("smoothed labels", "absent", measured=(TargetRowSums(sums=(0.999999, 1, 1.000001)),)),
        Case("a log alone", "unknown"),
    ),
)
