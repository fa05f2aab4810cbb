"""clipped-hard: nearly every gradient is cut to a small part of itself."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.measurements import ClippedGradients, Measured
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "clipped-hard"
STEPS = Threshold(
    30, "steps clipped by norm", "one step in twenty may pass unclipped: fewer than thirty hardly hold one"
)
VALUE_STEPS = Threshold(3, "steps clipped by value", "clipping by value bends the gradients of every step alike")
CUT = fitted(f"{ID}.cut", 0.95, unit="of the steps in which the norm is above the limit")
TIMES = fitted(f"{ID}.times", 20.0, unit="times what clipping leaves of the median norm")
# updates of SGD are as long as what is left, unless its rate makes up for it, as in language models with rates of 20
# and norms of 0.25
TIMES_SGD = fitted(
    f"{ID}.times-sgd", 6.0, unit="times what clipping leaves of the median norm, for SGD with a usual rate"
)
RATE = fitted(f"{ID}.rate", 1.0, unit="learning rate of SGD that makes up for clipping")
BORDERLINE = 0.5  # clarity between the two


def judge(measured: Measured) -> Observation | None:
    looks = _enough(measured, "norm", STEPS) or _enough(measured, "value", VALUE_STEPS)
    if not looks:
        return None
    last = looks[-1]
    hard = _is_hard(last)
    since = next(one for one in looks if _is_hard(one) == hard)
    if last.by == "value":
        left = f"before it their median norm is {num(last.times)} times that after, in {last.looks} checked steps"
        evidence = f"Gradients are clipped to values of ±{num(last.limit)}: {left}."
    else:
        evidence = (
            f"Gradients are clipped to a norm of {num(last.limit)} in {percent(last.cut)} of {last.looks} checked "
            f"steps; their median norm is {last.times:.3g} times that."
        )
    clarity = BORDERLINE if hard and not TIMES.reached(last.times) else 1.0
    return seen(ID, hard, evidence, at=since, clarity=clarity)


def clipped_hard(measured: Measured) -> ClippedGradients | None:
    """What clipping does to the norms, where it cuts nearly all of them to a fraction."""
    looks = _enough(measured, "norm", STEPS)
    return looks[-1] if looks and _is_hard(looks[-1]) else None


def _enough(measured: Measured, by: str, steps: Threshold) -> list[ClippedGradients]:
    return [one for one in measured.all(ClippedGradients) if one.by == by and steps.reached(one.looks)]


def _is_hard(look: ClippedGradients) -> bool:
    if look.by == "value":
        return TIMES.reached(look.times)
    in_proportion = look.sgd and look.rate is not None and not RATE.reached(look.rate)
    return CUT.reached(look.cut) and (TIMES_SGD if in_proportion else TIMES).reached(look.times)


def _norms(looks: int, times: float, cut: float = 1.0, rate: float | None = None) -> ClippedGradients:
    sgd = rate is not None
    return ClippedGradients(
        by="norm", limit=1.0, looks=looks, cut=cut, times=times, sgd=sgd, rate=rate or 1e-3, where="train.py:30"
    )


def _values(looks: int, times: float) -> ClippedGradients:
    return ClippedGradients(
        by="value", limit=1e-4, looks=looks, cut=1.0, times=times, sgd=False, rate=1e-3, where="train.py:30"
    )


SYMPTOM = Symptom(
    id=ID,
    title="gradients are clipped to a fraction",
    severity="problem",
    family="clipping",
    background=0.002,
    needs=("a recording of the training (traindx run)",),
    doc="""
## What is observed
Nearly every gradient is longer than the clipping norm, by twenty times or more: what is left of it has the same tiny
length at every step.

## How it is measured
The norm that clip_grad_norm_ found before it cut, by the norm it was given: above it in 95 % of the steps, thirty at
least, with a median twenty times above it, or six times, as a less clear sign, for SGD with a rate below 1: there the
update is as short as what is left of the gradient. Clipping by value counts when it leaves a twentieth of the norm or
less, in the median of three steps or more.

## Healthy range
Clipping that acts on a few per cent of the steps. Language models are often clipped at most steps, by a factor of two
or three.

## What it usually means
A clipping norm far too small for this loss, a summed loss, or gradients that explode and should be cured where they
come from. With Adam the length matters little.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case("a norm of 900 times the limit", "present", measured=(_norms(60, 900.0),)),
        Case("now and then", "absent", measured=(_norms(60, 0.3, cut=0.04),)),
        Case("29 steps: too few to say", "unknown", measured=(_norms(29, 900.0),)),
        Case("one step in ten is not cut", "absent", measured=(_norms(60, 900.0, cut=0.9),)),
        Case("cut to a tenth, under Adam", "absent", measured=(_norms(60, 10.0),)),
        Case("cut to a tenth, under SGD", "present", measured=(_norms(60, 10.0, rate=0.1),)),
        Case("cut to a tenth, at a rate that makes up for it", "absent", measured=(_norms(60, 10.0, rate=20.0),)),
        Case("hard at first only", "absent", measured=(_norms(40, 50.0), _norms(400, 3.0, cut=0.7))),
        Case("values cut to a hundredth", "present", measured=(_values(3, 100.0),)),
        Case("values cut to a half", "absent", measured=(_values(3, 2.0),)),
        Case("values cut twice: too few to say", "unknown", measured=(_values(2, 100.0),)),
        Case("a log alone", "unknown"),
    ),
)
