"""accumulation-unscaled: several backward passes add up without being averaged."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import BackwardPasses, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "accumulation-unscaled"
UPDATES = Threshold(
    3, "updates that all took several passes", "one may be an exception, and two a coincidence of two losses"
)
PASSES = Threshold(2, "backward passes before each update", "one pass is no accumulation")
ADAM_CLARITY = 0.5  # Adam divides by the size of the gradient, so that the fault costs little there


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(BackwardPasses) if UPDATES.reached(one.updates)]
    for one in looks:
        if PASSES.reached(one.fewest):
            return seen(
                ID, True,
                f"{one.fewest} backward passes add up before each update, each on a mean that is not divided by "
                f"{one.fewest}: the gradient is "
                f"{one.fewest} times that of one batch.", at=one,
                clarity=ADAM_CLARITY if "Adam" in one.optimizer else 1.0,
            )  # fmt: skip
    if looks and looks[-1].most == 1:
        return seen(ID, False, "One backward pass for each update, or each is scaled.", at=looks[-1])
    return None


SYMPTOM = Symptom(
    id=ID,
    title="accumulated gradients are not averaged",
    severity="problem",
    family="accumulation",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Several backward passes from the same line come before each update, each on the mean over its own batch, undivided:
the gradient is as many times larger.

## How it is measured
The backward calls between two updates and the line they come from, on steps that are looked at closely, and the last
operation of the loss: a loss function or a mean, with no division after it. Only with one optimiser; passes from
different lines are different losses.

## Healthy range
Each loss divided by the number of passes (libraries do it), or one pass for each update.

## What it usually means
Gradient accumulation added without dividing. With SGD the effective rate grows by the number of passes; Adam hardly
notices.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("four passes", "present", measured=(BackwardPasses(fewest=4, most=4, updates=3, optimizer="SGD",
                                                                where="train.py:20"),)),
        Case("one pass", "absent", measured=(BackwardPasses(fewest=1, most=1, updates=5, optimizer="SGD"),)),
        Case("now and then two", "unknown", measured=(BackwardPasses(fewest=1, most=2, updates=9, optimizer="SGD"),)),
        Case("only two updates yet", "unknown", measured=(BackwardPasses(fewest=4, most=4, updates=2, optimizer="SGD"),
                                                          )),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
