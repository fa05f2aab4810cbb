"""schedule-per-batch: a scheduler with numbers for epochs is stepped with every batch."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import RATE_SHARES, Measured, ScheduleSteps
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "schedule-per-batch"
UPDATES = Threshold(50, "updates since the first step of the scheduler", "fewer may all be the first epoch")
PER_BATCH = fitted(f"{ID}.per-batch", 0.9, unit="scheduler steps for each update")
GONE = Threshold(
    0.01, "of its peak", "at a hundredth of the rate the rest of a training is worth a hundredth of it", side="below"
)
GONE_AFTER = fitted(
    f"{ID}.gone-after", 0.55, unit="of the run, after which the rate is gone", strong=0.35, side="below"
)
CLEAR = 0.75  # clarity of a finding that is not strong
MADE_FOR_BATCHES = ("OneCycleLR", "ReduceLROnPlateau")  # the latter waits by itself


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(ScheduleSteps) if _is_per_batch(one)]
    found = [_judge(one) for one in looks]
    return next((one for one in found if one.state == "present"), found[0] if found else None)


def _is_per_batch(look: ScheduleSteps) -> bool:
    return UPDATES.reached(look.updates) and PER_BATCH.reached(look.steps / look.updates)


def _judge(look: ScheduleSteps) -> Observation:
    alive = max(step for share, step in zip(RATE_SHARES, look.last_above, strict=False) if share >= GONE.value)
    share = alive / max(look.all_updates, 1)
    lasts = look.peak > 0 and not GONE.reached(look.last / look.peak)
    if lasts or look.scheduler in MADE_FOR_BATCHES or not GONE_AFTER.reached(share):
        text = f"{look.scheduler} was stepped with every batch, and its numbers fit that."
        return seen(ID, False, text, at=look)
    return seen(
        ID,
        True,
        f"{look.scheduler} ({look.where}) was stepped with every batch: the rate fell below {GONE.value * 100:g} % of "
        f"its peak after {share * 100:.0f} % of the run.",
        at=look,
        clarity=max(CLEAR, GONE_AFTER.clarity(share)),
    )


STEPPED = ScheduleSteps(
    scheduler="StepLR",
    steps=500,
    updates=500,
    all_updates=500,
    peak=0.1,
    last=1e-9,
    last_above=(10, 20, 30, 40),
    where="step_size=10",
)

SYMPTOM = Symptom(
    id=ID,
    title="scheduler runs in the wrong unit",
    severity="problem",
    family="schedule-unit",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A scheduler is stepped once for every update, but its numbers fit epochs: the rate is gone long before the end.

## How it is measured
Scheduler steps by updates (nine in ten at least, over fifty updates or more), and what became of the rate: below 1 % of
its peak for good after 55 % of the run or earlier, plain after 35 %.

## Healthy range
Stepped per batch with numbers in batches, or per epoch with numbers in epochs. Warm restarts and one-cycle schedules
are made for batches.

## What it usually means
scheduler.step() one level too deep in the loops.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("StepLR(10) each batch", "present", measured=(STEPPED,)),
        Case("gone by the middle", "present", measured=(replace(STEPPED, last_above=(130, 260, 390, 500)),)),
        Case("gone later", "absent", measured=(replace(STEPPED, last_above=(150, 300, 450, 500)),)),
        Case("in batches", "absent", measured=(replace(STEPPED, last=0.05, last_above=(500, 500, 500, 500)),)),
        Case("made for batches", "absent", measured=(replace(STEPPED, scheduler="OneCycleLR"),)),
        Case("stepped once an epoch", "unknown", measured=(replace(STEPPED, steps=10),)),
        Case("too few updates", "unknown", measured=(replace(STEPPED, steps=40, updates=40),)),
        Case("a log alone", "unknown"),
    ),
)
