"""replay-repeats: batches from a replay buffer hold a few transitions again and again."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ReplayVariety
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "replay-repeats"
MIN_LOOKS = Threshold(4, "looks", "the first batches come from a buffer that has only begun to fill")
BATCH = Threshold(16, "transitions of a batch", "of fewer, equal ones are no surprise")
FEW_DISTINCT = Threshold(
    0.25,
    "of the transitions of a batch that differ",
    "drawing a quarter of a batch anew from a full buffer is improbable beyond any run",
    strong=0.1,
    side="below",
)
MET = Threshold(
    5.0,
    "times as many observations that the environment gave",
    "a buffer holds what the environment gave, less what is not stored yet",
)
SINGLE = Threshold(2.5, "different transitions of a batch", "two at most", side="below")


def judge(measured: Measured) -> Observation | None:
    one = measured.last(ReplayVariety)
    if one is None or not MIN_LOOKS.reached(one.looks) or not BATCH.reached(one.batch):
        return None
    varied = MET.reached(one.met / max(1, one.distinct)) if one.met else SINGLE.reached(one.batch_distinct * one.batch)
    met = f", while the environment gave {one.met} different observations" if one.met else ""
    if FEW_DISTINCT.reached(one.batch_distinct) and varied:
        return seen(
            ID, True, f"Only {percent(one.batch_distinct)} of the {one.batch} transitions of a batch differ, and "
                      f"{one.distinct} in all {one.looks} checked batches{met}.", at=one,
            clarity=FEW_DISTINCT.clarity(one.batch_distinct),
        )  # fmt: skip
    if FEW_DISTINCT.reached(one.batch_distinct):
        return None  # the task itself may have that few states
    return seen(ID, False, f"{percent(one.batch_distinct)} of the transitions of a batch differ.", at=one)


SYMPTOM = Symptom(
    id=ID,
    title="the replay buffer gives the same transitions",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The batches that values are learnt from hold very few different transitions, although the environment has given many.

## How it is measured
Observations, next observations and rewards of each row of a batch are compared by fingerprints, within the batch
and with the batches looked at before. Tasks with a handful of states repeat themselves by nature: where the
environment is seen, it must have given several times as many different observations; where it is not, only batches
of one or two different transitions count.

## Healthy range
Nearly all transitions of a batch differ in tasks with continuous observations.

## What it usually means
A buffer of a few entries, an index that does not move, one transition stored many times, or arrays that are written
again after they were stored without a copy.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a buffer of eight", "present", measured=(
            ReplayVariety(looks=8, rows=512, distinct=40, batch=64, batch_distinct=0.11, met=900, stepped=900),)),
        Case("one transition, environment not seen", "present", measured=(
            ReplayVariety(looks=8, rows=512, distinct=1, batch=64, batch_distinct=1 / 64, met=0, stepped=0),)),
        Case("a grid of sixteen fields", "unknown", measured=(
            ReplayVariety(looks=8, rows=512, distinct=40, batch=64, batch_distinct=0.2, met=16, stepped=900),)),
        Case("many", "absent", measured=(
            ReplayVariety(looks=8, rows=512, distinct=400, batch=64, batch_distinct=0.95, met=900, stepped=900),)),
        Case("two looks", "unknown", measured=(
            ReplayVariety(looks=2, rows=128, distinct=4, batch=64, batch_distinct=0.05, met=900, stepped=900),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
