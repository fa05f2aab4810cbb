"""target-network-still: the network that gives targets never follows, or is no other network at all."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import Measured, TargetNetwork
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold

ID = "target-network-still"
MIN_LOOKS = Threshold(6, "looks", "a copy made just before a look is equal by chance")
UPDATES = Threshold(
    2500, "updates without a copy", "10 000 steps with an update at every fourth (Mnih et al. 2015)", strong=5000
)
DRIFT = Threshold(
    0.02,
    "of the online weights, moved since the first look",
    "below this the two networks are equal within what rounding and a first update do",
)
ALWAYS = Threshold(
    0.4,
    "of the looks at which the two are equal",
    "a copy every hundred updates is met just after it at one look in a hundred, one at every second update at half",
    strong=0.9,
)


def judge(measured: Measured) -> Observation | None:
    found: Observation | None = None
    for one in measured.latest(TargetNetwork):
        if one.shared:
            return seen(ID, True, f"{one.where} and {one.online} are the same network: targets move with every update.",
                        at=one)  # fmt: skip
        if not MIN_LOOKS.reached(one.looks):
            continue
        if ALWAYS.reached(one.equal / one.looks) and DRIFT.reached(one.drift):
            return seen(
                ID, True, f"{one.where} equals {one.online} in {one.equal} of {one.looks} checks: it is copied at "
                          f"every update or two, so that targets move with it.", at=one,
                clarity=ALWAYS.clarity(one.equal / one.looks),
            )  # fmt: skip
        if one.moved:
            found = found or seen(
                ID, False, f"{one.where} changed between {one.moved} of {one.looks} checks and differs from "
                           f"{one.online}.", at=one,
            )  # fmt: skip
        elif UPDATES.reached(one.updates) and DRIFT.reached(one.drift):
            return seen(
                ID, True, f"{one.where} has not changed in {one.updates} updates, while {one.online} moved by "
                          f"{one.drift:.0%} of its size.", at=one, clarity=UPDATES.clarity(one.updates),
            )  # fmt: skip
    return found


SYMPTOM = Symptom(
    id=ID,
    title="the target network does not follow as it should",
    severity="problem",
    family="value",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The network that gives the targets keeps its first weights while the other one is trained, or it is the other one: the
same object, or a copy that is renewed at every update.

## How it is measured
Modules in the variables of the loop whose name says target, and the module of the same shapes that the optimiser
updates. Some of their weights are compared just before updates: has the target changed since the look before, and
do the two differ? A target that has not changed counts only after as many updates as the longest usual interval.

## Healthy range
A copy every 100 to 10 000 updates, or a moving average with a factor of 0.001 to 0.05.

## What it usually means
The line that copies is missing, never reached or copies in the wrong direction; `target = online` without a copy; a
factor of 1 in the moving average.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("never copied", "present", measured=(
            TargetNetwork(online="q_net", looks=30, updates=6000, moved=0, equal=1, shared=False, distance=0.9,
                          drift=0.9, where="target_net"),)),
        Case("the same object", "present", measured=(
            TargetNetwork(online="q_net", looks=3, updates=6, moved=2, equal=3, shared=True, distance=0, drift=0.1,
                          where="target_net"),)),
        Case("copied at every update", "present", measured=(
            TargetNetwork(online="q_net", looks=20, updates=900, moved=19, equal=20, shared=False, distance=0,
                          drift=0.4, where="target_net"),)),
        Case("copied at every second update", "present", measured=(
            TargetNetwork(online="critic", looks=20, updates=900, moved=10, equal=10, shared=False, distance=0.01,
                          drift=0.4, where="critic_targ"),)),
        Case("copied at every fourth update", "absent", measured=(
            TargetNetwork(online="q_net", looks=20, updates=900, moved=12, equal=5, shared=False, distance=0.01,
                          drift=0.4, where="target_net"),)),
        Case("moving average", "absent", measured=(
            TargetNetwork(online="q_net", looks=20, updates=900, moved=19, equal=1, shared=False, distance=0.01,
                          drift=0.4, where="target_net"),)),
        Case("the interval may be longer", "unknown", measured=(
            TargetNetwork(online="q_net", looks=20, updates=900, moved=0, equal=1, shared=False, distance=0.4,
                          drift=0.4, where="target_net"),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
