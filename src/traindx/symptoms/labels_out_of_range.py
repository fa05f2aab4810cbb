"""labels-out-of-range: labels outside the range of the loss."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, TargetValues
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "labels-out-of-range"
CROSS_ENTROPIES = ("binary_cross_entropy", "binary_cross_entropy_with_logits")
ROUNDING = "0 and 1 are where a binary cross-entropy ends; a thousandth is what half precision makes of a number near 1"
LOW = Threshold(-1e-3, "smallest target", ROUNDING, side="below")
HIGH = Threshold(1 + 1e-3, "largest target", ROUNDING)


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(TargetValues) if one.criterion in CROSS_ENTROPIES]
    for one in looks:
        if outside(one):
            text = f"{one.criterion} is given targets from {one.low:.4g} to {one.high:.4g}; it is defined for 0 to 1."
            return seen(ID, True, text, at=one)
    if looks:
        return seen(ID, False, f"The targets of {looks[0].criterion} lie between 0 and 1.", at=looks[0])
    return None


def outside(targets: TargetValues) -> bool:
    """Whether targets are outside 0 to 1 by more than rounding."""
    return LOW.reached(targets.low) or HIGH.reached(targets.high)


def targets_of(
    criterion: str, low: float, high: float, *, between: int = 0, zeros: int = 0, ones: int = 0, count: int = 24
) -> TargetValues:
    """What is measured of the targets of one line."""
    return TargetValues(
        criterion=criterion,
        low=low,
        high=high,
        between=between,
        zeros=zeros,
        ones=ones,
        count=count,
        where="train.py:20",
    )


SYMPTOM = Symptom(
    id=ID,
    title="labels outside the range of the loss",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "targets",
    ),
    doc="""
## What is observed
Labels have values that the loss function does not know: below 0 or above 1 for a binary cross-entropy.

## How it is measured
A recording takes the smallest and largest target over the calls of a binary cross-entropy; torch itself does not check
them. Present when one lies outside 0 to 1 by more than 0.001, which rounding makes. Class indices out of range end in
an error of torch.

## Healthy range
0 to 1 for binary losses, with soft labels in between.

## What it usually means
Labels coded as -1/1 or 1/2, or pixel values 0 to 255 that were not scaled. The loss has no lower bound then.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("coded as 1 and 2", "present", measured=(targets_of(CROSS_ENTROPIES[1], 1, 2, ones=9),)),
        Case("0 and 1", "absent", measured=(targets_of(CROSS_ENTROPIES[1], 0, 1, zeros=15, ones=9),)),
        Case("1 in half precision", "absent", measured=(targets_of(CROSS_ENTROPIES[0], 0, 1.0005, between=8),)),
        Case("a loss that takes -1 and 1", "unknown", measured=(targets_of("soft_margin_loss", -1, 1, ones=9),)),
        Case("a log alone", "unknown"),
    ),
)
