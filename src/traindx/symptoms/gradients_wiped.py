"""gradients-wiped: gradients are gone when the optimiser wants to use them."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import GradientsAtUpdate, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.gradients_not_cleared import CLEARED, SHARE, UPDATES
from traindx.symptoms.observed import from_measurements, seen

ID = "gradients-wiped"


def judge(measured: Measured) -> Observation | None:
    for one in measured.all(GradientsAtUpdate):
        updates = one.missing + one.used
        if UPDATES.reached(one.missing) and SHARE.reached(one.missing / updates):
            return seen(
                ID, True,
                f"At {one.missing} of {updates} checked updates, zero_grad() had cleared the gradients after "
                f"backward(): the update had "
                "nothing to use.", at=one,
            )  # fmt: skip
    last = measured.last(GradientsAtUpdate)
    if last is not None and CLEARED.reached(last.used) and not last.missing:
        return seen(
            ID,
            False,
            f"The gradients of the last backward pass were there at each of {last.used} checked updates.",
            at=last,
        )
    return None


SYMPTOM = Symptom(
    id=ID,
    title="gradients are cleared before the update uses them",
    severity="problem",
    family="clearing",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
`backward()` fills the gradients, `zero_grad()` clears them, and only then the optimiser updates.

## How it is measured
Calls of zero_grad on optimisers and modules after the last backward pass and before an update of one optimiser, and
whether its parameters had no gradient, or zeros, at that update. Present when most of the updates looked at were such,
two at least. Clearing another model's gradients in between is none.

## Healthy range
Never.

## What it usually means
zero_grad() stands between backward() and step().
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("zero_grad before step", "present", measured=(GradientsAtUpdate(missing=9, used=0, where="train.py:31"),)),
        Case("in the right order", "absent", measured=(GradientsAtUpdate(missing=0, used=9),)),
        Case("once, at an update that was skipped", "unknown", measured=(GradientsAtUpdate(missing=1, used=9),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
