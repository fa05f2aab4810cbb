"""reference-is-policy: the reference of a preference or KL term is the policy itself."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import AdvantageSpread, KlToReference, Measured, PreferencePairs
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "reference-is-policy"
PAIRS = Threshold(8, "pairs after the first update", "a few may be equal by rounding")
MIN_LOOKS = Threshold(3, "looks after the first update", "a first update may be lost to warm-up")
SAME = Threshold(0.95, "equal to the last bit", "two models that differ give different log-probabilities")


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(PreferencePairs):
        if PAIRS.reached(one.later):
            same = SAME.reached(one.on_reference / one.later)
            text = f"{one.on_reference} of {one.later} pairs have the very log-probabilities of the reference"
            if same:
                return seen(ID, True, f"{text}: the reference moves with the policy.", at=one)
            found = found or seen(ID, False, f"{text}.", at=one)
    if any(one.zero == one.looks for one in measured.latest(AdvantageSpread)):
        return found  # nothing was earned: the policy has not moved
    for distance in measured.latest(KlToReference):
        if MIN_LOOKS.reached(distance.later):
            same = SAME.reached(distance.same / distance.later)
            text = f"{distance.where} are equal in {distance.same} of {distance.later} checks after the first update"
            if same:
                return seen(ID, True, f"{text}: the reference moves with the policy.", at=distance)
            found = found or seen(ID, False, f"{text}.", at=distance)
    return found


SYMPTOM = Symptom(
    id=ID,
    title="the reference moves with the policy",
    severity="problem",
    family="preference",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Policy and reference give the same log-probabilities, to the last bit, after the policy was updated.

## How it is measured
Log-probabilities of policy and reference in the variables of the loss, compared after the first update. Before it
they are equal by design.

## Healthy range
They differ from the first update on, unless the learning rate is zero then.

## What it usually means
`ref_model = model` without a copy, weights that are shared with the reference, or an adapter that is not switched off
for the reference.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("pairs", "present", measured=(
            PreferencePairs(looks=6, pairs=48, identical=0, margin=0, first_margin=0, right=0, later=40,
                            on_reference=40),)),
        Case("tokens", "present", measured=(
            KlToReference(looks=6, mean=0, largest=0, same=5, later=5, where="logps, ref_logps"),)),
        Case("nothing is earned, so that the policy stays where it was", "unknown", measured=(
            KlToReference(looks=6, mean=0, largest=0, same=5, later=5, where="logps, ref_logps"),
            AdvantageSpread(looks=6, mean=0, std=0, largest_std=0, zero=6),)),
        Case("two models", "absent", measured=(
            PreferencePairs(looks=6, pairs=48, identical=0, margin=0.2, first_margin=0, right=0.7, later=40,
                            on_reference=0),)),
        Case("before the first update", "unknown", measured=(
            PreferencePairs(looks=1, pairs=8, identical=0, margin=0, first_margin=0, right=0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
