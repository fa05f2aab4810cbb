"""data-order-repeated: a training goes on from the middle of an epoch with the first batches again."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ResumedTraining
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.restored import EXAMPLE, done, resumed
from traindx.thresholds import Threshold

ID = "data-order-repeated"
INSIDE = Threshold(
    0.05, "of an epoch from its ends", "a checkpoint at the end of an epoch may be a few updates off", strong=0.3
)


def judge(measured: Measured) -> Observation | None:
    look = resumed(measured)
    if look is None or not look.loader or look.counts != "step" or not look.epoch_batches:
        return None
    place = look.steps_before / look.epoch_batches % 1
    if not INSIDE.reached(min(place, 1 - place)):
        return seen(ID, False, "The checkpoint was made at the end of an epoch.", at=look)
    if look.skipped or look.rng_loaded or not look.repeats_order:
        return seen(ID, False, f"{_how(look)} after {done(look)}.", at=look)
    return seen(
        ID,
        True,
        f"The training goes on after {done(look)}, {place * 100:.0f} % into an epoch of {look.epoch_batches} batches, "
        f"and no batch was passed over: the same order begins again, and the first batches are seen twice.",
        at=look,
        clarity=INSIDE.clarity(min(place, 1 - place)),
    )


def _how(look: ResumedTraining) -> str:
    if look.skipped:
        return f"{look.skipped} batches were passed over"
    return "The random numbers were restored" if look.rng_loaded else "The order is another one"


AGAIN = replace(EXAMPLE, skipped=0, rng_loaded=False)

SYMPTOM = Symptom(
    id=ID,
    title="data starts from the first batch again at a resume",
    severity="problem",
    family="resume",
    background=0.004,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
A checkpoint was made in the middle of an epoch, and the training that goes on from it begins with the first batches.

## How it is measured
As for `optimizer-not-restored`; of the data the batches that a DataLoader handed out before the first loss, those that
a library leaves out by itself (`skip_first_batches`), whether the order follows from the data set or from a seed that
the script sets, and whether a state of random numbers was restored.

## Healthy range
Batches of the epoch that were seen are passed over, or the order is another one.

## What it usually means
The loop starts at `start_step` and the loader at zero; `ignore_data_skip=True`.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("from the first batch", "present", measured=(AGAIN,)),
        Case("500 batches passed over", "absent", measured=(EXAMPLE,)),
        Case("at the end of an epoch", "absent", measured=(replace(AGAIN, steps_before=3000),)),
        Case("another order", "absent", measured=(replace(AGAIN, repeats_order=False),)),
        Case("a stream", "unknown", measured=(replace(AGAIN, epoch_batches=0),)),
        Case("a log alone", "unknown"),
    ),
)
