"""advantages-off-rewards: the reward or the advantage of an answer has nothing to do with the answer."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import EqualAnswers, Measured, RewardGroups
from traindx.symptoms.base import Case, Symptom, num, percent
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
EQUAL_LOOKS = Threshold(3, "batches", "one may hold a single group")
REPEATED = Threshold(
    60, "answers that stood in their batch before", "the variance of fewer is known to a fifth at best"
)
WITHIN = Threshold(
    0.6,
    "of the variance of rewards lies among equal answers",
    "0 for rewards that are calculated; a judge that differs from itself as much as answers do says nothing of them",
    strong=0.85,
)


def judge(measured: Measured) -> Observation | None:
    return _unequal(measured) or _unrelated(measured)


def _unequal(measured: Measured) -> Observation | None:
    """Equal answers to one prompt that earn as unequally as any two."""
    one = measured.last(EqualAnswers)
    enough = one is not None and EQUAL_LOOKS.reached(one.looks) and REPEATED.reached(one.repeated)
    if one is None or not enough or not WITHIN.reached(one.within):
        return None
    return seen(
        ID, True, f"Equal answers to one prompt earn as differently as any two: {percent(min(1.0, one.within))} of the "
                  f"variance of rewards lies among {one.repeated} repeated answers (0 where rewards belong to them).",
        at=one, clarity=WITHIN.clarity(one.within),
    )  # fmt: skip


def _unrelated(measured: Measured) -> Observation | None:
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
    title="rewards or advantages do not belong to the answers",
    severity="problem",
    family="reward",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Answers of one prompt have rewards and advantages, and the two have little to do with each other. Or answers that are
equal, to the same prompt, get different rewards.

## How it is measured
The correlation of the rewards, centred in their group, with the advantages of the same rows, over the looks so far.
And, where a batch of TRL's trainers holds equal answers to one prompt, the variance of their rewards by that of all
rewards of the batch.

## Healthy range
Close to 1: an advantage is the reward less a baseline, possibly scaled.

## What it usually means
Rewards and answers are in a different order (`repeat` beside `repeat_interleave`, a shuffle between the two), or
groups are cut along the wrong axis.""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("permuted", "present", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=0.02),)),
        Case("equal answers, unequal rewards", "present", measured=(
            EqualAnswers(looks=20, repeated=400, within=0.97),)),
        Case("a judge that hesitates", "unknown", measured=(EqualAnswers(looks=20, repeated=400, within=0.3),)),
        Case("in order", "absent", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=0.97),)),
        Case("turned around", "unknown", measured=(
            RewardGroups(looks=8, groups=64, same=0, size=8, mean=0.4, first_mean=0.4, std=0.3, advantage=-0.97),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
