"""advantages-off-rewards: the advantage of an answer has nothing to do with its reward."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RewardGroups
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "advantages-off-rewards"
MIN_LOOKS = Threshold(4, "looks", "small groups correlate by chance")
SPREAD = Threshold(1e-6, "standard deviation of rewards within groups", "without any there is nothing to follow")
UNRELATED = Threshold(
    0.35,
    "correlation of advantages with rewards",
    "an advantage is the reward less a baseline: the correlation is 1 by construction",
    strong=0.1,
    side="below",
)
REVERSED = Threshold(
    -0.35, "correlation of advantages with rewards", "below it the sign is turned around instead", side="below"
)


def judge(measured: Measured) -> Observation | None:
    one = measured.last(RewardGroups)
    if one is None or one.advantage is None or not MIN_LOOKS.reached(one.looks) or not SPREAD.reached(one.std):
        return None
    if REVERSED.reached(one.advantage) or one.crossed:
        return None  # other faults: reward-reversed, advantages-unscaled
    if UNRELATED.reached(one.advantage):
        return seen(
            ID, True, f"Advantages hardly follow rewards of the same answers: correlation {num(one.advantage)} within "
                      f"groups of {one.size or 'a batch'} (1 where they belong together).", at=one,
            clarity=UNRELATED.clarity(one.advantage),
        )  # fmt: skip
    return seen(ID, False, f"Advantages follow the rewards (correlation {num(one.advantage)}).", at=one)


SYMPTOM = Symptom(
    id=ID,
    title="advantages do not follow the rewards",
    severity="problem",
    family="reward",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Answers of one prompt have rewards and advantages, and the two have little to do with each other.

## How it is measured
The correlation of the rewards, centred in their group, with the advantages of the same rows, over the looks so far.

## Healthy range
Close to 1: an advantage is the reward less a baseline, possibly scaled.

## What it usually means
Rewards and answers are in a different order (`repeat` beside `repeat_interleave`, a shuffle between the two), or
groups are cut along the wrong axis.""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("permuted", "present", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=0.02),)),
        Case("in order", "absent", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=0.97),)),
        Case("turned around", "unknown", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=-0.97),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
