"""squash-uncorrected: actions go through tanh, and their log-probability is that of the draw before it."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, SquashedActions
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "squash-uncorrected"
MIN_LOOKS = Threshold(2, "looks", "the operations of a loss are the same at every update; one look may be of a probe")


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(SquashedActions):
        if not MIN_LOOKS.reached(one.looks):
            continue
        if one.uncorrected == one.looks:
            return seen(
                ID, True,
                "The action goes through tanh, and its log-probability is that of the draw before tanh: the term "
                "- log(1 - tanh(draw)^2) is missing.", at=one,
            )  # fmt: skip
        if not one.uncorrected:
            found = seen(ID, False, "The log-probability of squashed actions is corrected for tanh.", at=one)
    return found


SYMPTOM = Symptom(
    id=ID,
    title="log-probability of a squashed action without its correction",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The loss draws an action from a normal distribution, sends the draw through tanh, and uses the density that the normal
distribution gives the draw as the log-probability of the action.

## How it is measured
In the operations of the loss: a draw is where its distance from a mean is squared and the draw itself goes on through
tanh. A correction is a logarithm or softplus of the draw, or of what tanh made of it, anywhere in the loss.

## Healthy range
Every such loss has the correction: log p(draw) - sum of log(1 - tanh(draw)^2), or its stable form 2 (log 2 - draw -
softplus(-2 draw)).

## What it usually means
The correction was left out. Without it the entropy of the policy looks larger the further actions lie at their bounds:
the policy is paid for saturating, and the temperature of SAC is tuned to the wrong entropy.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("never corrected", "present", measured=(SquashedActions(looks=8, uncorrected=8, where="sac.py:80"),)),
        Case("corrected", "absent", measured=(SquashedActions(looks=8, uncorrected=0, where="sac.py:80"),)),
        Case("one look", "unknown", measured=(SquashedActions(looks=1, uncorrected=1, where="sac.py:80"),)),
        Case("corrected at some looks", "unknown", measured=(
            SquashedActions(looks=8, uncorrected=3, where="sac.py:80"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
