"""actions-out-of-range: actions lie outside what the environment takes, or use next to nothing of it."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ActionBounds, Measured
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "actions-out-of-range"
STEPS = Threshold(200, "steps looked at", "an episode of a usual control task")
OUTSIDE = Threshold(
    0.6,
    "of the numbers of actions",
    "a Gaussian of standard deviation 1 has 32 % outside bounds of -1 and 1",
    strong=0.8,
)
NARROW = Threshold(
    0.02,
    "of half the range",
    "exploration noise of published settings is a tenth of the range (Fujimoto et al. 2018)",
    strong=0.005,
    side="below",
)
REACH = Threshold(
    0.5, "of half the range", "a policy that is to use the range is scaled to all of it", strong=0.25, side="below"
)
AT_REACH = Threshold(
    0.12,
    "of the newest numbers",
    "of 500 numbers of a bell shape one or two are within 5 % of the farthest, of even ones 5 %",
    strong=0.25,
)
NEWEST = Threshold(200, "numbers", "an episode of a usual control task")


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(ActionBounds):
        if not one.width or not STEPS.reached(one.looked):
            continue
        if OUTSIDE.reached(one.outside):
            return seen(
                ID, True, f"{percent(one.outside)} of the actions lie outside the range of {one.where} (half its width "
                          f"is {num(one.width)}) and are cut to it.", at=one, clarity=OUTSIDE.clarity(one.outside),
            )  # fmt: skip
        if NARROW.reached(one.std):
            return seen(
                ID, True, f"Actions vary by {percent(one.std)} of the range of {one.where}: next to nothing of it is "
                          f"used.", at=one, clarity=NARROW.clarity(one.std),
            )  # fmt: skip
        if NEWEST.reached(one.newest) and REACH.reached(one.reach) and AT_REACH.reached(one.at_reach):
            return seen(
                ID, True, f"Actions end at {percent(one.reach)} of the range of {one.where}, and "
                          f"{percent(one.at_reach)} of the newest are there: the policy wants more and is scaled to "
                          f"less.", at=one,
                clarity=min(REACH.clarity(one.reach), AT_REACH.clarity(one.at_reach)),
            )  # fmt: skip
        found = found or seen(
            ID, False, f"{percent(one.outside)} of the actions lie outside the range, and they vary by "
                       f"{percent(one.std)} of it.", at=one,
        )  # fmt: skip
    return found


SYMPTOM = Symptom(
    id=ID,
    title="actions do not fit the range of the environment",
    severity="problem",
    family="exploration",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Most actions that the environment is given lie outside its bounds, where they all mean the same, or they use hardly
anything of its range.

## How it is measured
Every action of the first 2000 steps, and one in 13 later, beside the bounds of a Box space, as the environment itself
gets it: after wrappers that scale or cut. Of the newest 500 numbers the farthest from the middle, and how many lie
there, on either side: a policy that presses against a limit inside the range in both directions is scaled to less than
the range. Not looked at where the numbers of an action have ranges of their own.

## Healthy range
A Gaussian policy of standard deviation 1 has 5 to 30 % of its first actions outside the bounds, and fewer later.

## What it usually means
The output of the network is not scaled to the bounds, is scaled twice, or is unbounded with a large standard
deviation; an action of the range -1 to 1 where the environment takes -2 to 2 or the other way round.""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("scaled by ten", "present", measured=(
            ActionBounds(looked=2000, kinds=0, commonest=0, distinct=0, outside=0.85, at_bound=0.86, std=9, width=2),)),
        Case("next to nothing", "present", measured=(
            ActionBounds(looked=2000, kinds=0, commonest=0, distinct=0, outside=0, at_bound=0, std=0.004, width=2),)),
        Case("a limit inside the range", "present", measured=(
            ActionBounds(looked=2000, kinds=0, commonest=0, distinct=0, outside=0, at_bound=0, std=0.3, width=3,
                         reach=0.1, at_reach=0.6, newest=500),)),
        Case("small actions without a limit", "absent", measured=(
            ActionBounds(looked=2000, kinds=0, commonest=0, distinct=0, outside=0, at_bound=0, std=0.1, width=3,
                         reach=0.3, at_reach=0.004, newest=500),)),
        Case("a Gaussian", "absent", measured=(
            ActionBounds(looked=2000, kinds=0, commonest=0, distinct=0, outside=0.2, at_bound=0.2, std=0.7, width=1),)),
        Case("discrete", "unknown", measured=(
            ActionBounds(looked=2000, kinds=2, commonest=0.5, distinct=2, outside=0, at_bound=0, std=0, width=0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
