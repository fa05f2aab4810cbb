"""loss-maximised: loss turned upside down."""

from __future__ import annotations

from statistics import fmean

from traindx.diagnosis import Observation
from traindx.measurements import LossDirection, Measured
from traindx.symptoms.base import Case, Symptom, num
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "loss-maximised"
AGREEING = Threshold(3, "backward passes that agree", "one or two may be a penalty or a trial of the code")
UPDATES = Threshold(3, "updates along the gradient", "each alone may go either way where steps are noisy")
COSINE = fitted(f"{ID}.cosine", 0.3, unit="mean cosine of the first updates with the gradient")


def judge(measured: Measured) -> Observation | None:
    looks = measured.all(LossDirection)
    for one in looks:
        # several optimisers may pull in turns, as adversaries do
        if one.optimizers == 1 and (text := _maximised(one)):
            return seen(ID, True, text, at=one)
    for one in looks:
        if _is_upright(one):
            return seen(ID, False, "The loss given to backward has the sign of the error.", at=one)
    return None


def _maximised(one: LossDirection) -> str:
    if AGREEING.reached(one.turned) and one.turned == one.passes and not one.maximize:
        return _turned(one)
    if _is_upright(one) and UPDATES.reached(len(one.cosines)) and min(one.cosines) > 0:
        mean = fmean(one.cosines)
        if COSINE.reached(mean):
            return (
                "The updates go along the gradient of the loss instead of against it (their mean cosine with it is "
                f"{mean:.2f}): each one makes the loss larger."
            )
    return ""


def _is_upright(one: LossDirection) -> bool:
    return AGREEING.reached(one.upright) and not one.turned


def _turned(one: LossDirection) -> str:
    if one.error == "errors":
        return (
            "The errors of the outputs count with a minus in the loss that is written out: training makes them larger."
        )
    if one.error == "likelihood":
        return (
            "The loss is the mean log-probability of the right classes without a minus sign: training makes them less "
            "likely."
        )
    return (
        f"backward is called on minus {one.error} ({num(one.value)} where {one.error} gave {num(one.error_value)}): "
        "training makes it worse."
    )


SYMPTOM = Symptom(
    id=ID,
    title="loss turned upside down",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "loss given to backward",
    ),
    doc="""
## What is observed
`backward` gets minus the loss, or the optimiser goes along the gradient instead of against it, so that training makes
the model worse.

## How it is measured
A recording follows the graph from the loss that `backward` gets to the loss function's result: only factors lie
between, and the two have opposite signs, in every backward call so far, three at least, and with one optimiser only.
By hand: the mean of picked log-probabilities without a minus sign, or squared or absolute errors that count with a
minus (`1 - sse / sst` is such a loss). Where the loss has the right sign, a few numbers of each weight are compared
before and after the first three updates: all of them go along the gradient (a cosine of 0.3 and more in the mean), as
`maximize=True` does, or an optimiser of your own that adds what it should subtract.

## Healthy range
None for losses that are at least zero. Adversarial trainings turn a loss around on purpose; they use several
optimisers and are left alone.

## What it usually means
A stray minus sign, in the loss or in an update that is written out, or a likelihood that was meant to be maximised
handed to an optimiser that minimises.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "minus the loss",
            "present",
            measured=(
                LossDirection(
                    passes=3,
                    turned=3,
                    upright=0,
                    error="cross_entropy",
                    value=-2.31,
                    error_value=2.31,
                    where="train.py:42",
                ),
            ),
        ),
        Case("a likelihood", "present", measured=(LossDirection(passes=5, turned=5, upright=0, error="likelihood"),)),
        Case(
            "an optimiser that adds the gradient",
            "present",
            measured=(LossDirection(passes=3, turned=0, upright=3, cosines=(1.0, 0.9, 0.8)),),
        ),
        Case(
            "updates nearly across the gradient",
            "absent",
            measured=(LossDirection(passes=3, turned=0, upright=3, cosines=(0.3, 0.3, 0.2)),),
        ),
        Case(
            "minus the loss, maximised",
            "unknown",
            measured=(LossDirection(passes=9, turned=9, upright=0, maximize=True),),
        ),
        Case("adversaries", "unknown", measured=(LossDirection(passes=9, turned=9, upright=0, optimizers=2),)),
        Case("two passes: too few to say", "unknown", measured=(LossDirection(passes=2, turned=2, upright=0),)),
        Case("turned in some passes", "unknown", measured=(LossDirection(passes=9, turned=3, upright=2),)),
        Case(
            "the usual way",
            "absent",
            measured=(LossDirection(passes=3, turned=0, upright=3, cosines=(-1.0, -0.9, -0.9)),),
        ),
        Case("a log alone", "unknown"),
    ),
)
