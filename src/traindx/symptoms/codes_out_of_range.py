"""codes-out-of-range: two classes, coded by other numbers than 0 and 1."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, TargetValues
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.labels_out_of_range import CROSS_ENTROPIES, outside, targets_of
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import fitted

ID = "codes-out-of-range"
TARGETS = fitted(f"{ID}.targets", 8, unit="targets with two values: of fewer that says nothing")
WRITTEN_OUT = "margin"  # the name of a loss that no function of torch made
WRITTEN_OUT_CLARITY = 0.95  # what a formula is meant for is read from its graph


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(TargetValues)
    for one in looks:
        if TARGETS.reached(one.count) and (_other_codes if one.criterion in CROSS_ENTROPIES else _no_signs)(one):
            clarity = WRITTEN_OUT_CLARITY if one.criterion == WRITTEN_OUT else 1.0
            return seen(ID, True, _codes(one), at=one, clarity=clarity)
    for one in looks:
        if TARGETS.reached(one.count) or one.between or (one.criterion in CROSS_ENTROPIES and not outside(one)):
            return seen(ID, False, _range(one), at=one)
    return None


def _other_codes(targets: TargetValues) -> bool:
    """Two values for a loss that is defined from 0 to 1."""
    return outside(targets) and not targets.between


def _no_signs(targets: TargetValues) -> bool:
    """0 and 1 for a loss that is defined for -1 and 1."""
    return targets.zeros + targets.ones == targets.count and targets.zeros > 0 and targets.ones > 0


def _codes(targets: TargetValues) -> str:
    if targets.criterion in CROSS_ENTROPIES:
        return (
            f"All targets of {targets.criterion} are {targets.low:.4g} or {targets.high:.4g}; it is defined for 0 to 1."
        )
    counts = f"of {targets.count} labels {targets.zeros} are 0 and {targets.ones} are 1"
    if targets.criterion == WRITTEN_OUT:
        return (
            f"The loss cuts off a margin minus label times score at zero; {counts}: it is defined for -1 and 1, and "
            "those of label 0 teach it nothing."
        )
    return f"For {targets.criterion}, {counts}; it is defined for -1 and 1."


def _range(targets: TargetValues) -> str:
    many = " and have more than two values" if targets.between else ""
    name = "a margin that is written out" if targets.criterion == WRITTEN_OUT else targets.criterion
    return f"The targets of {name} lie between {targets.low:.4g} and {targets.high:.4g}{many}."


SYMPTOM = Symptom(
    id=ID,
    title="two classes coded by other numbers than the loss takes",
    severity="problem",
    family="labels-out-of-range",
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
The targets of a binary cross-entropy have two values, and they are not 0 and 1. Or those of a margin loss
(`soft_margin_loss`, `hinge_embedding_loss`, `clamp(1 - label * score, min=0)` written out) are 0 and 1, and not -1
and 1.

## How it is measured
A recording counts the targets, those that are 0, those that are 1, and those that are neither the smallest nor the
largest of their call. Present when at least 8 targets of a binary cross-entropy have no value in between, and one
lies outside 0 to 1: they are codes of classes and not measurements. Of a margin: when all of at least 8 are 0 or 1,
and both occur.

## Healthy range
0 and 1, and -1 and 1 for a margin. Targets with many values outside that range are no codes; what is wrong there is
the loss.

## What it usually means
Labels coded as -1/1 or 1/2 for a loss that wants 0/1, or as 0/1 for a margin, where those of 0 teach nothing. Map
them before the training; the loss has no lower bound until then.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("-1 and 1 in a cross-entropy", "present", measured=(targets_of(CROSS_ENTROPIES[1], -1, 1, ones=9),)),
        Case(
            "0 and 1 in a cross-entropy", "absent", measured=(targets_of(CROSS_ENTROPIES[1], 0, 1, zeros=15, ones=9),)
        ),
        Case("numbers in a cross-entropy", "absent", measured=(targets_of(CROSS_ENTROPIES[1], -3, 4, between=22),)),
        Case("0 and 1 in a margin", "present", measured=(targets_of("soft_margin_loss", 0, 1, zeros=15, ones=9),)),
        Case("-1 and 1 in a margin", "absent", measured=(targets_of("soft_margin_loss", -1, 1, ones=9),)),
        Case("ones alone in a margin", "absent", measured=(targets_of("soft_margin_loss", 1, 1, ones=24),)),
        Case("a margin that is written out", "present", measured=(targets_of(WRITTEN_OUT, 0, 1, zeros=15, ones=9),)),
        Case("seven targets", "unknown", measured=(targets_of(CROSS_ENTROPIES[1], -1, 1, ones=3, count=7),)),
        Case("a log alone", "unknown"),
    ),
)
