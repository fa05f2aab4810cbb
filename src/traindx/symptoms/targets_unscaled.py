"""targets-unscaled: a regression learns targets far from the range of its outputs."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import REGRESSION
from traindx.measurements import Measured, TargetScale
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.loss_calls import other_loss
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.scales import clarity_of_size
from traindx.thresholds import fitted

ID = "targets-unscaled"
LARGE = fitted(f"{ID}.large", 20.0, unit="mean or standard deviation of the targets", strong=200.0)
SMALL_OUTPUT = fitted(f"{ID}.output", 0.2, unit="of the targets' size, outputs at the start", side="below")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(TargetScale)
    if not looks:
        return other_loss(ID, measured, REGRESSION)
    first = looks[0]
    size = max(abs(first.mean), first.std)
    if not LARGE.reached(size) or not SMALL_OUTPUT.reached(first.output / size):
        text = f"The targets have mean {first.mean:.3g} and standard deviation {first.std:.3g}."
        return seen(ID, False, text, at=first)
    text = (
        f"The targets have mean {first.mean:.4g} and standard deviation {first.std:.4g}; the untrained model gives "
        f"values around {first.output:.2g}."
    )
    return seen(ID, True, text, at=first, clarity=clarity_of_size(LARGE, size))


SYMPTOM = Symptom(
    id=ID,
    title="targets are not normalised",
    severity="problem",
    family="target-scale",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The targets of a regression have a mean or standard deviation in the tens or more, while the untrained model puts out
values around zero.

## How it is measured
In the first call of a regression loss (squared, absolute, Huber) with finite numbers, of the first three updates: mean
and standard deviation of the targets against the size of the outputs, which must be at most a fifth of it. From 20 on
it is present, and clear from 200 on.

## Healthy range
Targets of the order of 1, or an output layer that starts at the targets' mean and scale.

## What it usually means
The targets are in raw units. The first gradients are as large as the targets: SGD diverges, Adam spends its time
walking the output bias to the mean. """,
    detect=from_measurements(ID, judge),
    cases=(
        Case("targets in raw units", "present", measured=(TargetScale(mean=181.2, std=89.66, output=0.19),)),
        Case("standardised targets", "absent", measured=(TargetScale(mean=0.148, std=0.958, output=0.2),)),
        Case("just beyond what does no harm", "present", measured=(TargetScale(mean=1.0, std=20.5, output=0.2),)),
        Case("just below it", "absent", measured=(TargetScale(mean=1.0, std=19.5, output=0.2),)),
        Case(
            "an output layer that starts at their mean",
            "absent",
            measured=(TargetScale(mean=181.2, std=89.66, output=180.0),),
        ),
        Case(
            "outputs of a quarter of their size", "absent", measured=(TargetScale(mean=180.0, std=89.66, output=45.0),)
        ),
        Case("a log alone", "unknown"),
    ),
)
