"""targets-no-distribution: targets of cross-entropy that are no distribution."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import LossCall, Measured, TargetRowSums
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "targets-no-distribution"
BINARY, SOFTMAX = "binary_cross_entropy", "Softmax"
SUM = fitted(f"{ID}.sum", 1.5, unit="sum of a target row; label smoothing and mixing of samples keep it at 1")
EACH = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
SHARE = fitted(f"{ID}.share", 0.05, unit="of the target rows")


def judge(measured: Measured) -> Observation | None:
    calls = {one.where: one for one in measured.all(LossCall)}
    looks = [one for one in measured.all(TargetRowSums) if one.sums and _one_label(calls.get(one.where))]
    for one in looks:
        share = sum(map(SUM.reached, one.sums)) / len(one.sums)
        if SHARE.reached(share):
            loss = _name(calls.get(one.where))
            text = (
                f"{percent(share)} of the target rows of {loss} sum to {SUM.value:g} or more: several labels for one "
                "sample, but it expects one."
            )
            return seen(ID, True, text, at=one)
    if looks:
        loss = _name(calls.get(looks[0].where))
        return seen(ID, False, f"The target rows of {loss} sum to 1.", at=looks[0])
    made = measured.all(LossCall)
    if made and all(one.loss in EACH and not _one_label(one) for one in made):
        return seen(ID, False, f"{made[0].loss} takes each label by itself.", at=made[0])
    return None


def _one_label(call: LossCall | None) -> bool:
    """A binary cross-entropy takes several labels, except from outputs that share one whole among them."""
    return call is None or call.loss not in EACH or call.made_by == SOFTMAX


def _name(call: LossCall | None) -> str:
    return "binary_cross_entropy after a softmax" if call is not None and call.loss == BINARY else "cross_entropy"


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
`cross_entropy`, or `binary_cross_entropy` after a softmax, is given rows of targets that sum to more than 1: several
labels for one sample.

## How it is measured
A recording sums the rows of targets that are given as probabilities. At least 5 % of them sum to 1.5 or more. Outputs
of a softmax sum to 1, so that they cannot say yes to two of the classes. Any other binary cross-entropy takes each
label by itself, so it rules this out.

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
        Case(
            "several labels after a softmax",
            "present",
            measured=(
                LossCall(loss=BINARY, made_by=SOFTMAX, where="train.py:9"),
                TargetRowSums(sums=(0, 2, 3), where="train.py:9"),
            ),
        ),
        Case(
            "several labels, each with a sigmoid",
            "absent",
            measured=(
                LossCall(loss=BINARY, made_by="Sigmoid", where="train.py:9"),
                TargetRowSums(sums=(0, 2, 3), where="train.py:9"),
            ),
        ),
        Case("a log alone", "unknown"),
    ),
)
