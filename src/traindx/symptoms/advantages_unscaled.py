"""advantages-unscaled: advantages are far from the size that a clipped objective is made for."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import AdvantageSpread, Measured, PolicyObjective, RewardGroups
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "advantages-unscaled"
MIN_LOOKS = Threshold(4, "looks", "one batch may be unusual")
LARGE = Threshold(
    10.0,
    "standard deviation of the advantages",
    "ten times the size that clipped objectives are tuned for (Schulman et al. 2017; Andrychowicz et al. 2021)",
    strong=50.0,
)
OFFSET = Threshold(
    3.0,
    "standard deviations that their mean is off zero",
    "normalised ones have mean zero; three standard deviations off, hardly any has the other sign",
    strong=8.0,
)
ONE_SIGN = Threshold(0.9, "of the looks", "every action is pushed the same way, whatever it earned")
CROSSED = Threshold(0.9, "of the looks", "the mean of each place over the prompts is zero to the last digit: no chance")


def judge(measured: Measured) -> Observation | None:
    groups = measured.last(RewardGroups)
    if groups is not None and MIN_LOOKS.reached(groups.looks) and CROSSED.reached(groups.crossed / groups.looks):
        return seen(
            ID, True, f"Advantages have mean zero over the prompts, at each place of their groups of {groups.size}, "
                      f"and not within a prompt: they are normalised over the wrong axis.", at=groups,
        )  # fmt: skip
    if not any(one.family == "ratio" for one in measured.all(PolicyObjective)):
        return None
    one = measured.last(AdvantageSpread)
    if one is None or not MIN_LOOKS.reached(one.looks) or not one.std:
        return None
    if LARGE.reached(one.std):
        return seen(
            ID, True, f"{one.where} has standard deviation {num(one.std)} (about 1 where it is normalised).", at=one,
            clarity=LARGE.clarity(one.std),
        )  # fmt: skip
    off = abs(one.mean) / one.std
    if OFFSET.reached(off) and ONE_SIGN.reached(one.one_sign / one.looks):
        return seen(
            ID, True, f"The mean of {one.where} is {num(one.mean)}, {num(off)} standard deviations from zero: every "
                      f"action is pushed the same way.", at=one, clarity=OFFSET.clarity(off),
        )  # fmt: skip
    return seen(ID, False, f"{one.where} has mean {num(one.mean)} and standard deviation {num(one.std)}.", at=one)


SYMPTOM = Symptom(
    id=ID,
    title="advantages are not of unit size about the mean of their group",
    severity="problem",
    family="reward",
    background=0.003,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The advantages that weigh a ratio objective are tens in size, lie all on one side of zero, or are centred over answers
to different prompts.

## How it is measured
Mean and standard deviation of the advantages that have one number for each row of the loss, at each look; of several
variables of that name the least spread.

## Healthy range
Mean 0 and standard deviation 1 where they are normalised; rewards of about 1 give advantages of about 1 without it.

## What it usually means
Rewards of tens or hundreds without normalisation, no baseline, or a normalisation over the wrong axis.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("over the wrong axis", "present", measured=(
            RewardGroups(looks=8, groups=32, same=0, size=8, mean=2, first_mean=2, std=0.3, crossed=8),)),
        Case("rewards of hundreds", "present", measured=(
            PolicyObjective(family="ratio", losses=8),
            AdvantageSpread(looks=8, mean=3, std=120, largest_std=200, zero=0, where="advantages"),)),
        Case("no baseline", "present", measured=(
            PolicyObjective(family="ratio", losses=8),
            AdvantageSpread(looks=8, mean=9, std=0.9, largest_std=1, zero=0, one_sign=8, where="advantages"),)),
        Case("normalised", "absent", measured=(
            PolicyObjective(family="ratio", losses=8),
            AdvantageSpread(looks=8, mean=0, std=1, largest_std=1, zero=0, where="advantages"),)),
        Case("returns of REINFORCE", "unknown", measured=(
            PolicyObjective(family="policy-gradient", losses=8),
            AdvantageSpread(looks=8, mean=40, std=20, largest_std=30, zero=0, where="returns"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
