"""gradients-not-cleared: gradients of earlier updates are still there."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ClearedGradients, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "gradients-not-cleared"
UPDATES = Threshold(2, "updates with leftovers", "one may be the first after a resume; two in the same run are a habit")
SHARE = fitted(f"{ID}.share", 0.6, unit="of the updates looked at")
CLEARED = Threshold(3, "updates cleared before", "fewer are over before anything could be left")
CLEARED_SHARE = fitted(f"{ID}.cleared-share", 0.8, unit="of the updates looked at, to be called absent")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(ClearedGradients)
    for one in looks:
        updates = one.left_over + one.cleared
        if UPDATES.reached(one.left_over) and SHARE.reached(one.left_over / updates):
            newest = [look for look in looks if look.where == one.where][-1]
            return seen(
                ID, True,
                f"At {newest.left_over} of {newest.left_over + newest.cleared} checked updates, the gradients of "
                f"earlier updates had not been "
                "cleared: each backward pass adds to all those before.", at=one,
            )  # fmt: skip
    last = measured.last(ClearedGradients)
    if (
        last is not None
        and CLEARED.reached(last.cleared)
        and CLEARED_SHARE.reached(last.cleared / (last.cleared + last.left_over))
    ):
        return seen(ID, False, f"Gradients were cleared before each of {last.cleared} checked updates.", at=last)
    return None


SYMPTOM = Symptom(
    id=ID,
    title="gradients are not cleared",
    severity="problem",
    family="clearing",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
When an optimiser updates, the gradients still hold what the update before left in them.

## How it is measured
Calls of zero_grad on optimisers and modules between two updates of one optimiser, and whether a parameter's gradient
was None or zero when backward began (cleared by hand). Present when most of the updates looked at had leftovers, two
at least. Backward passes that add up before one update are no leftovers.

## Healthy range
Cleared once for every update.

## What it usually means
zero_grad() forgotten, placed outside the loop over batches, or called on another optimiser.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("never called", "present", measured=(ClearedGradients(left_over=12, cleared=0, where="train.py:9"),)),
        Case("cleared each time", "absent", measured=(ClearedGradients(left_over=0, cleared=12),)),
        Case("left once in twelve", "absent", measured=(ClearedGradients(left_over=1, cleared=11),)),
        Case("two updates cleared: too few to say", "unknown", measured=(ClearedGradients(left_over=0, cleared=2),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
