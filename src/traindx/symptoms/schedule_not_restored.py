"""schedule-not-restored: a training goes on from a checkpoint with a schedule that starts again."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.restored import EXAMPLE, done, resumed

ID = "schedule-not-restored"


def judge(measured: Measured) -> Observation | None:
    look = resumed(measured)
    if look is None or not look.scheduled:
        return None
    if look.scheduler_loaded:
        return seen(ID, False, f"The schedule goes on at {look.scheduler_steps} after {done(look)}.", at=look)
    return seen(
        ID,
        True,
        f"The training goes on from a checkpoint of {done(look)}, and the learning-rate schedule starts again at "
        f"{look.scheduler_steps}: its state was not restored.",
        at=look,
    )


AGAIN = replace(EXAMPLE, scheduler_loaded=False, scheduler_steps=0)

SYMPTOM = Symptom(
    id=ID,
    title="learning-rate schedule was not restored at a resume",
    severity="problem",
    family="resume",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Weights come from a checkpoint that says how many updates were made, and the scheduler counts from zero: warm-up and
decay are run through again.

## How it is measured
As for `optimizer-not-restored`; of the scheduler its `load_state_dict` and its own count at the first update. One that
is built with `last_epoch` counts as restored.

## Healthy range
The schedule goes on where it was. A new stage of a training with a schedule of its own saves elsewhere.

## What it usually means
`scheduler.load_state_dict` is missing, or the scheduler was built anew with the whole number of steps.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("it starts again", "present", measured=(AGAIN,)),
        Case("it goes on", "absent", measured=(EXAMPLE,)),
        Case("no scheduler", "unknown", measured=(replace(AGAIN, scheduled=False),)),
        Case("a log alone", "unknown"),
    ),
)
