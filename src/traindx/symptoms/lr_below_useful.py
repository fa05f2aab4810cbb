"""lr-below-useful: the learning rate is far below where learning begins."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RateTrials
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_probe, seen
from traindx.symptoms.rate_trials import is_fine, of_the_best, share_done, times_clarity, worth
from traindx.thresholds import Threshold

ID = "lr-below-useful"
SHORT = Threshold(
    100.0, "times below the suggested rate", "ten times what the best rate of a short training may be off by",
    strong=1000.0,
)  # fmt: skip
LITTLE = Threshold(0.02, "of the best descent", "twice what a rate a hundred times too low makes", side="below")


def judge(measured: Measured) -> Observation | None:
    look = measured.last(RateTrials)
    if look is None or look.change is None:
        return None
    below = look.suggested / look.rate
    text = f"{of_the_best(look)}, at your rate of {look.rate:.3g} by {num(-look.change)}."
    if SHORT.reached(below) and LITTLE.reached(share_done(look)) and worth(look):
        return seen(ID, True, text, at=look, clarity=times_clarity(SHORT, below))
    return seen(ID, False, text, at=look) if is_fine(look) else None


TRIALS = RateTrials(
    rate=1e-5, change=-0.0002, suggested=0.4, stable=1.6, best_rate=0.8, best_change=-2.1, updates=64, size=2.3,
    warms=False,
)  # fmt: skip


SYMPTOM = Symptom(
    id=ID,
    title="the learning rate is far below the useful range",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx lr-range)",),
    doc="""
## What is observed
At the script's own learning rate some dozen updates leave the loss where it was; at a rate far above they bring it
down.

## How it is measured
By a probe, on a copy: short trainings at several constant rates from the same state, on the captured batches. Present
when the suggested rate is at least 100 times the one the script's schedule is heading for, when that one makes less
than 2 % of the best descent, and when the best takes away a fifth of the loss. Plain from 1000 times on.

## Healthy range
Within a factor of ten of the best of a short training; fine-tuning of a trained model somewhat below.

## What it usually means
A learning rate that is too low, gradients clipped to nothing, or updates that are lost to rounding.
""",
    detect=from_probe(ID, judge),
    cases=(
        Case("40 000 times below", "present", probed=(TRIALS,)),
        Case("a rate that works", "absent", probed=(replace(TRIALS, rate=0.3, change=-1.8),)),
        Case("ten times below", "unknown", probed=(replace(TRIALS, rate=0.04, change=-0.2),)),
        Case("no rate does much", "unknown", probed=(replace(TRIALS, best_change=-0.1, change=0.0),)),
        Case("a log alone", "unknown"),
    ),
)
