"""reward-reversed: what earned more is made less probable."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ObjectiveSlopes, RewardGroups, StoredRewards
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "reward-reversed"
MIN_LOOKS = Threshold(3, "looks", "one batch may be misleading")
AGAINST = Threshold(0.8, "of the looks", "the sign of a push does not change from batch to batch", strong=0.95)
NEGATED = Threshold(
    0.95,
    "of the rewards in the script are those given, negated",
    "rewards of a task that has both signs are found as they are",
)
FOLLOWS = Threshold(
    -0.5,
    "correlation of advantages with rewards",
    "an advantage is the reward less a baseline: the correlation is 1 by construction",
    strong=-0.9,
    side="below",
)


def judge(measured: Measured) -> Observation | None:
    pushed = _pushed(measured.latest(ObjectiveSlopes))
    turned = _turned(measured)
    both = [one for one in (pushed, turned) if one is not None]
    return next((one for one in both if one.state == "present"), both[0] if both else None)


def _pushed(slopes: list[ObjectiveSlopes]) -> Observation | None:
    """By the derivative of the loss with respect to log-probabilities."""
    found: Observation | None = None
    for one in slopes:
        if not MIN_LOOKS.reached(one.pushes):
            continue
        share = one.against / one.pushes
        if AGAINST.reached(share):
            return seen(
                ID, True, f"In {one.against} of {one.pushes} checks the loss makes less probable what has the larger "
                          f"{one.compared} (correlation {one.agreement:.2f}, should be positive).", at=one,
                clarity=AGAINST.clarity(share),
            )  # fmt: skip
        if one.along > one.against:
            found = found or seen(
                ID, False, f"The loss raises the probability of what has the larger {one.compared} at {one.along} of "
                           f"{one.pushes} checks.", at=one,
            )  # fmt: skip
    return found


def _turned(measured: Measured) -> Observation | None:
    """By what became of the rewards before they reached the loss."""
    stored = measured.last(StoredRewards)
    if stored is not None and MIN_LOOKS.reached(stored.looks) and NEGATED.reached(stored.negated):
        return seen(
            ID, True, f"{percent(stored.negated)} of the numbers in {stored.where} are rewards of the environment, "
                      f"negated.", at=stored,
        )  # fmt: skip
    if stored is not None and MIN_LOOKS.reached(stored.looks) and NEGATED.reached(stored.opposed):
        return seen(
            ID, True, f"{percent(stored.opposed)} of the numbers in {stored.where} lie on the other side of 0 than "
                      f"every reward that the environment gave.", at=stored,
        )  # fmt: skip
    groups = measured.last(RewardGroups)
    if groups is None or groups.advantage is None or not MIN_LOOKS.reached(groups.looks):
        return None
    if FOLLOWS.reached(groups.advantage):
        return seen(
            ID, True, f"Advantages are the larger the smaller the reward is (correlation {num(groups.advantage)}).",
            at=groups, clarity=FOLLOWS.clarity(groups.advantage),
        )  # fmt: skip
    return None


SYMPTOM = Symptom(
    id=ID,
    title="what earns more is made less probable",
    severity="problem",
    family="reward",
    background=0.001,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The loss pushes the probability of actions or answers down that earned more than others, or rewards reach the loss
with the sign turned around.

## How it is measured
The derivative of the loss with respect to the log-probabilities (or ratios) is compared with the advantages,
returns or rewards of the same rows: gradient descent raises what has a negative derivative. Rewards in variables of
the script are compared with those that the environment gave, also when they are scaled (an environment whose rewards
all lie on one side of 0, and variables that lie on the other), and advantages with rewards within their groups.

## Healthy range
A correlation near 1 between advantage and push.

## What it usually means
A minus that is missing or is there twice: in the loss, in the advantage (baseline minus reward), or a cost that is
used as a reward.""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a minus is missing", "present", measured=(
            ObjectiveSlopes(looks=6, pushes=6, along=0, against=6, agreement=-0.99, compared="advantages"),)),
        Case("rewards stored with a minus", "present", measured=(
            ObjectiveSlopes(looks=6, pushes=6, along=6, against=0, agreement=0.99, compared="advantages"),
            StoredRewards(looks=5, values=900, same=0.0, negated=1.0, where="rewards"),)),
        Case("scaled and with a minus", "present", measured=(
            StoredRewards(looks=5, values=900, same=0.0, negated=0.0, opposed=1.0, where="rewards"),)),
        Case("scaled", "unknown", measured=(
            StoredRewards(looks=5, values=900, same=0.0, negated=0.0, opposed=0.02, where="rewards"),)),
        Case("baseline minus reward", "present", measured=(
            RewardGroups(looks=5, groups=20, same=0, size=8, mean=0.4, first_mean=0.5, std=0.3, advantage=-0.98),)),
        Case("upright", "absent", measured=(
            ObjectiveSlopes(looks=6, pushes=6, along=6, against=0, agreement=0.99, compared="advantages"),)),
        Case("two looks", "unknown", measured=(
            ObjectiveSlopes(looks=2, pushes=2, along=0, against=2, agreement=-0.99, compared="advantages"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
