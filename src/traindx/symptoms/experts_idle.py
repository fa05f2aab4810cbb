"""experts-idle: the router of a mixture of experts sends most tokens to few experts."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import ExpertLoad, Measured
from traindx.symptoms.base import Case, Symptom
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "experts-idle"
TOKENS = Threshold(200, "tokens looked at", "of fewer, an expert may be missed by chance", strong=1000)
IDLE = fitted(f"{ID}.idle", 0.5, unit="of the experts of a router without a single token", strong=0.75)
LARGEST = fitted(f"{ID}.largest", 0.9, unit="of the largest share that one expert can have", strong=0.98)
STEP = Threshold(20, "updates", "the first ones may go through a router that is not trained yet")


def judge(measured: Measured) -> Observation | None:
    looks = [one for one in measured.all(ExpertLoad) if TOKENS.reached(one.tokens) and one.experts > one.chosen]
    latest = {one.where: one for one in looks}
    if not latest:
        return None
    worst = max(latest.values(), key=lambda one: (_idle(one), _largest(one)))
    idle, largest = _idle(worst), _largest(worst)
    present = IDLE.reached(idle) or LARGEST.reached(largest)
    if present and not STEP.reached(worst.step):
        return None
    sentence = (
        f"Of the {worst.experts} experts of {worst.where}, {worst.idle} got none of {worst.tokens} tokens; the busiest "
        f"took {worst.loads[-1] * 100:.0f} % of the choices (equal: {100 / worst.experts:.0f} %), entropy of the "
        f"router {worst.entropy:.2f} of 1."
    )
    clarity = max(IDLE.clarity(idle) if IDLE.reached(idle) else 0.0, LARGEST.clarity(largest))
    return seen(ID, present, sentence, at=worst, clarity=clarity if present else 1.0)


def _idle(look: ExpertLoad) -> float:
    return look.idle / look.experts


def _largest(look: ExpertLoad) -> float:
    """The busiest expert's share of what one expert can get: each token chooses it once at most."""
    return look.loads[-1] * look.chosen


EVEN = ExpertLoad(
    experts=8, chosen=2, tokens=2000, loads=(0.1, 0.11, 0.12, 0.12, 0.13, 0.13, 0.14, 0.15), entropy=0.98,
    first_entropy=0.99, idle=0, step=200, where="layers.0.mlp.gate",
)  # fmt: skip
UNEVEN = replace(EVEN, loads=(0.03, 0.05, 0.07, 0.1, 0.1, 0.15, 0.2, 0.3))
COLLAPSED = replace(EVEN, loads=(0, 0, 0, 0, 0, 0, 0.5, 0.5), idle=6, entropy=0.3)

SYMPTOM = Symptom(
    id=ID,
    title="experts get no tokens",
    severity="problem",
    family="experts",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
The router of a mixture of experts sends all tokens of several batches to few experts, and the others get none.

## How it is measured
A router is a module with one output for each of the experts beside it. On close looks its scores are ranked as the
model does (top-k): the share of choices of each expert over the last five looks, and the entropy of the mean
probabilities. Present from half of the experts without a token, or when nearly every token chooses the same one.

## Healthy range
Every expert gets tokens. Shares that differ two or three times are usual, and so is an uneven load at first.

## What it usually means
No load-balancing loss (or one that is not added to the loss), a router with too high a rate, or one in half precision.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("an even load", "absent", measured=(EVEN,)),
        Case("two experts take all", "present", measured=(COLLAPSED,)),
        Case("uneven, none idle", "absent", measured=(UNEVEN,)),
        Case("in the first updates", "unknown", measured=(replace(COLLAPSED, step=3),)),
        Case("too few tokens", "unknown", measured=(replace(COLLAPSED, tokens=40),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
