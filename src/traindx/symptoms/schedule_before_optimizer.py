"""schedule-before-optimizer: scheduler stepped before the optimiser."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import FirstScheduleStep, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen

ID = "schedule-before-optimizer"


def judge(measured: Measured) -> Observation | None:
    # a gradient scaler that skips the first update leaves the scheduler to be the first through no fault of the script
    looks = [look for look in measured.all(FirstScheduleStep) if not look.skipped]
    for look in looks:
        if not look.after_optimizer:
            text = "was stepped before its optimiser: the first learning rate of the schedule is never used."
            return seen(ID, True, f"{look.scheduler} {text}", at=look)
    if not looks:
        return None
    return seen(ID, False, f"{looks[0].scheduler} was stepped after its optimiser.", at=looks[0])


SYMPTOM = Symptom(
    id=ID,
    title="scheduler stepped before the optimiser",
    severity="note",
    family=ID,
    background=0.01,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
`scheduler.step()` is called before the first `optimizer.step()`.

## How it is measured
The order of the first calls for each optimiser, unless a gradient scaler had skipped an update before.

## Healthy range
The optimiser first, then the scheduler.

## What it usually means
The first value of the schedule is skipped; a warm-up starts one step late. Seldom the reason of a failure by itself.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "scheduler first",
            "present",
            measured=(FirstScheduleStep(scheduler="LambdaLR", after_optimizer=False, where="train.py:30"),),
        ),
        Case(
            "the second of two schedulers",
            "present",
            measured=(
                FirstScheduleStep(scheduler="StepLR", after_optimizer=True, where="train.py:30"),
                FirstScheduleStep(scheduler="LambdaLR", after_optimizer=False, where="train.py:31"),
            ),
        ),
        Case(
            "optimiser first",
            "absent",
            measured=(FirstScheduleStep(scheduler="StepLR", after_optimizer=True, where="train.py:30"),),
        ),
        Case(
            "the scaler skipped the first update",
            "unknown",
            measured=(FirstScheduleStep(scheduler="StepLR", after_optimizer=False, skipped=1, where="train.py:30"),),
        ),
        Case("a log alone", "unknown"),
    ),
)
