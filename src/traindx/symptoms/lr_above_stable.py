"""lr-above-stable: the learning rate is beyond what the loss bears."""

from __future__ import annotations

from msgspec.structs import replace

from traindx.diagnosis import Observation
from traindx.measurements import Measured, RateTrials, Sharpness
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_probe, seen
from traindx.symptoms.rate_trials import is_fine, of_the_best, share_done, times_clarity, worth
from traindx.thresholds import Threshold

ID = "lr-above-stable"
BEYOND = Threshold(
    2.0, "times the highest rate that is stable", "rates are tried in factors of two: the next one up", strong=10.0
)
FAR_ABOVE = Threshold(
    30.0, "times the suggested rate", "three times what the best rate of a short training may be off by", strong=300.0
)
WASTED = Threshold(0.25, "of the best descent", "half of what a rate that works makes at least", side="below")
FAR_BEYOND = Threshold(
    20.0,
    "times the limit of stability",
    "trainings hover at the limit by themselves, rarely at several times of it (Cohen et al. 2021)",
    strong=200.0,
)
RISEN = Threshold(0.1, "of the loss", "updates at the edge of stability raise it for a moment by less")


def judge(measured: Measured) -> Observation | None:
    trials, sharpness = measured.last(RateTrials), measured.last(Sharpness)
    if trials is not None and not trials.warms:
        return _by_trials(trials)
    return _by_curvature(sharpness) if sharpness is not None else None


def _by_trials(look: RateTrials) -> Observation | None:
    far, done = look.rate / look.suggested, share_done(look)
    end = f"{of_the_best(look)}; at your rate of {look.rate:.3g} they {_ending(look)}."
    if FAR_ABOVE.reached(far) and WASTED.reached(done) and worth(look):
        return seen(ID, True, end, at=look, clarity=times_clarity(FAR_ABOVE, far))
    if look.stable is None:
        return None
    beyond = look.rate / look.stable
    if BEYOND.reached(beyond) and done < -1:
        text = f"{end} Rates up to {look.stable:.2g} are stable."
        return seen(ID, True, text, at=look, clarity=times_clarity(BEYOND, beyond))
    if not is_fine(look) or look.change is None:
        return None
    return seen(ID, False, f"Updates at your rate of {look.rate:.3g} lower the loss by {num(-look.change)}.", at=look)


def _ending(look: RateTrials) -> str:
    if look.change is None:
        return "make it NaN or Inf"
    return f"raise it by {num(look.change)}" if look.change > 0 else f"lower it by only {num(-look.change)}"


def is_far_beyond(look: Sharpness) -> bool:
    return FAR_BEYOND.reached(look.sharpness / look.limit)


def _by_curvature(look: Sharpness) -> Observation | None:
    """Only what two measurements agree on: steps far beyond the limit, and a loss that rises under them."""
    if not look.updates or look.before is None or not is_far_beyond(look):
        return None
    if look.after is not None and not RISEN.reached((look.after - look.before) / max(abs(look.before), 1e-300)):
        return None
    times, end = look.sharpness / look.limit, "NaN or Inf" if look.after is None else num(look.after)
    text = (
        f"Learning rate times sharpness is {num(look.sharpness)}, {num(times)} times the limit of {num(look.limit)} "
        f"({look.rule}), and {look.updates} updates take the loss from {num(look.before)} to {end}."
    )
    return seen(ID, True, text, at=look, clarity=times_clarity(FAR_BEYOND, times))


TRIALS = RateTrials(
    rate=5.0, change=None, suggested=0.1, stable=0.4, best_rate=0.2, best_change=-1.9, updates=64, size=2.3, warms=False
)
STEEP = Sharpness(sharpness=400.0, limit=2.0, rule="2 / lr", updates=30, before=2.3, after=9.1)


SYMPTOM = Symptom(
    id=ID,
    title="the learning rate is beyond the range that works",
    severity="problem",
    family="one-batch",
    background=0.003,
    needs=("a probe of the model (traindx lr-range or traindx curvature)",),
    doc="""
## What is observed
At the script's own learning rate the loss of the captured batches rises, breaks or hardly falls, while lower rates
bring it down.

## How it is measured
By a probe, on a copy. `lr-range` trains for some dozen updates at several constant rates from the same state: present
when the script's rate is at least twice the highest that is stable and its training ends higher than it began by as
much as the best one fell, or at NaN; or when it is at least 30 times the suggested one and makes less than a quarter of
the best descent. `curvature` multiplies the rate by the largest eigenvalue of the Hessian, rescaled
as the optimiser does: present from 20 times the optimiser's limit on, if 30 updates also raise the loss. Scripts that
warm up, and for the second those that clip gradients, are not judged.

## Healthy range
Up to the limit and a little beyond: trainings approach it by themselves and hover there.

## What it usually means
The learning rate, or the momentum, is too high; or the loss is far steeper than usual: summed instead of averaged,
unscaled inputs or targets, large initial weights.
""",
    detect=from_probe(ID, judge),
    cases=(
        Case("50 times what fits makes NaN", "present", probed=(TRIALS,)),
        Case("above what is stable, and it rises", "present",
             probed=(replace(TRIALS, suggested=0.3, rate=1.0, change=2.0),)),
        Case("above what is stable, and it falls a little", "unknown",
             probed=(replace(TRIALS, suggested=0.3, rate=1.0, change=-0.2),)),
        Case("a rate that works", "absent", probed=(replace(TRIALS, rate=0.1, change=-1.5),)),
        Case("a script that warms up", "unknown", probed=(replace(TRIALS, warms=True),)),
        Case("far beyond the limit, and the loss rises", "present", probed=(STEEP,)),
        Case("far beyond the limit, and the loss breaks", "present", probed=(replace(STEEP, after=None),)),
        Case("far beyond the limit, and the loss falls", "unknown", probed=(replace(STEEP, after=2.2),)),
        Case("at the edge of stability", "unknown", probed=(replace(STEEP, sharpness=4.0, updates=0),)),
        Case("a log alone", "unknown"),
    ),
)  # fmt: skip
