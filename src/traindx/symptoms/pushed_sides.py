"""Judging which way a loss pulls on one of its parts, at most of the looks."""

from __future__ import annotations

from collections.abc import Callable

from traindx.diagnosis import Observation
from traindx.measurements import Measured, ObjectiveSlopes, PolicyObjective
from traindx.symptoms.observed import seen
from traindx.thresholds import Threshold

MIN_LOOKS = Threshold(3, "looks", "one batch may be misleading")
SHARE = Threshold(0.8, "of the looks", "a term that only sometimes pulls the wrong way has another cause", strong=0.95)
OBJECTIVE = PolicyObjective(family="ratio", losses=6)  # for the cases


def judge_sides(
    identifier: str, wrong: Callable[[ObjectiveSlopes], int], right: Callable[[ObjectiveSlopes], int], part: str
) -> Callable[[Measured], Observation | None]:
    """Present where most looks are `wrong`, absent where most are `right`. `part` completes "the loss …"."""

    def judge(measured: Measured) -> Observation | None:
        if not any(MIN_LOOKS.reached(one.losses) for one in measured.latest(PolicyObjective)):
            return None  # a variable that is called so in a loss that has nothing to do with a policy
        found: Observation | None = None
        for one in measured.latest(ObjectiveSlopes):
            looks = wrong(one) + right(one)
            if not MIN_LOOKS.reached(looks):
                continue
            share = wrong(one) / looks
            if SHARE.reached(share):
                return seen(
                    identifier, True, f"The loss {part} in {wrong(one)} of {looks} checks.", at=one,
                    clarity=SHARE.clarity(share),
                )  # fmt: skip
            if SHARE.reached(right(one) / looks):
                found = found or seen(
                    identifier, False, f"The loss {part} in {wrong(one)} of {looks} checks.", at=one,
                )  # fmt: skip
        return found

    return judge
