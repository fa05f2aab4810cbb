"""terminals-bootstrapped: values of the next episode are counted at the end of one."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import BootstrapTargets, EpisodeEnds, Measured, ReplayVariety, StoredEnds
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "terminals-bootstrapped"
ENDS = Threshold(3, "ends of episodes looked at", "one may be a time-out, which is rightly bootstrapped")
SHARE = Threshold(
    0.9,
    "of the ends of episodes",
    "time-outs, which are rightly bootstrapped, are at most a few of the ends",
    strong=0.99,
)
EXPECTED = Threshold(20, "ends among the flags looked at, by the environment's own", "a chance of e^-20 to see none")
MARKED = Threshold(
    0.1, "of the ends expected", "buffers lag behind and are sampled unevenly, not tenfold", strong=0.02, side="below"
)


def judge(measured: Measured) -> Observation | None:
    environments = measured.latest(EpisodeEnds)
    if environments and not any(one.terminated for one in environments):
        return None  # every end is a time-out
    found: Observation | None = None
    for one in measured.latest(BootstrapTargets):
        if not ENDS.reached(one.ends):
            continue
        share = one.through / one.ends
        names = ", ".join(one.names)
        if SHARE.reached(share):
            return seen(
                ID, True,
                f"At {one.through} of {one.ends} ends of episodes the target counts {one.discount:.3g} x the value "
                f"of the next state, which belongs to another episode ({names}).", at=one, clarity=SHARE.clarity(share),
            )  # fmt: skip
        if not one.through and found is None:
            found = seen(
                ID, False, f"At all {one.ends} checked ends of episodes the target stops at the reward ({names}).",
                at=one,
            )  # fmt: skip
    return _unmarked(measured) or found


def _unmarked(measured: Measured) -> Observation | None:
    """Flags that are hardly ever set, although the environment ends episodes."""
    one = measured.last(StoredEnds)
    if one is None or not one.steps:
        return None
    # a transition that is drawn again is no further look
    replay = measured.last(ReplayVariety)
    repeated = replay.distinct / replay.rows if replay is not None and replay.rows else 1.0
    expected = one.values * min(1.0, repeated) * one.terminated / one.steps
    if not EXPECTED.reached(expected):
        return None
    if not MARKED.reached(one.ends / expected):
        return None
    return seen(
        ID, True, f"{one.ends} of the {one.values} flags in {one.where} mark the end of an episode, and the "
        f"environment ended one in {percent(one.terminated / one.steps)} of its steps: targets go on beyond it.",
        at=one, clarity=MARKED.clarity(one.ends / expected),
    )  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="targets go on beyond the end of an episode",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The target of a value at the last step of an episode contains the value of the state after it, as if the episode went
on.

## How it is measured
Targets, rewards, flags of ends and next values are found among the variables of the loop, and the relation target =
reward + discount x next value (or its sum over an episode, or generalised advantages) is checked on their numbers.
Where it holds for all other steps, the rows at ends of episodes are looked at: is the next value counted there as
well? Also present where the flags of ends that the script keeps are set in less than a tenth as many steps as the
environment says, with twenty expected among different transitions. An environment
whose episodes end by a time limit only is not judged: bootstrapping is right there.

## Healthy range
No end of an episode counts the value of the next state; time-outs do.

## What it usually means
The factor (1 - done) is missing, or the flag is always false: one that was stored before it was set, or the wrong of
two flags.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("no factor (1 - done)", "present", measured=(
            BootstrapTargets(looks=6, ends=20, through=20, discount=0.99, given=0.99, form="next-value",
                             names=("rewards", "dones"), where="dqn.py:26"),)),
        Case("masked", "absent", measured=(
            BootstrapTargets(looks=6, ends=20, through=0, discount=0.99, given=0.99, form="next-value"),)),
        Case("half of them are time-outs", "unknown", measured=(
            BootstrapTargets(looks=6, ends=20, through=10, discount=0.99, given=0.99, form="next-value"),)),
        Case("all of them are time-outs", "unknown", measured=(
            BootstrapTargets(looks=6, ends=20, through=20, discount=0.99, given=0.99, form="next-value"),
            EpisodeEnds(steps=4000, episodes=20, terminated=0, truncated=20, length=200, returns=-900,
                        first_returns=-1200, best_returns=-800, reward_low=-16, reward_high=0, observation=8,
                        observations=4000, looked=4000),)),
        Case("flags that are never set", "present", measured=(
            StoredEnds(looks=20, values=10_000, ends=0, steps=20_000, terminated=900, where="dones"),)),
        Case("flags as the environment sets them", "unknown", measured=(
            StoredEnds(looks=20, values=10_000, ends=420, steps=20_000, terminated=900, where="dones"),)),
        Case("flags of a few transitions that are drawn again and again", "unknown", measured=(
            StoredEnds(looks=40, values=2560, ends=0, steps=20_000, terminated=920, where="dones"),
            ReplayVariety(looks=40, rows=2560, distinct=38, batch=64, batch_distinct=0.016, met=2532, stepped=2600),)),
        Case("too few ends", "unknown", measured=(
            BootstrapTargets(looks=2, ends=2, through=2, discount=0.99, given=0.99, form="next-value"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
