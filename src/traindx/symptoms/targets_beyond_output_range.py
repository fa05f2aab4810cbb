"""targets-beyond-output-range: targets beyond the range of the output."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import BINARY_LOGITS
from traindx.measurements import LossCall, Measured, RegressionTargets
from traindx.symptoms.base import Case, Symptom, num, percent
from traindx.symptoms.loss_calls import clearest, spoken, takes_raw_logits
from traindx.symptoms.observed import from_measurements, seen
from traindx.thresholds import Threshold, fitted

ID = "targets-beyond-output-range"
OUTSIDE = fitted(f"{ID}.outside", 0.05, unit="of the targets outside the range of the output")
TARGETS = Threshold(16, "targets", "with fewer, a single odd sample reaches the share that counts")
MIN_LOOKS = Threshold(3, "looks at targets that all fit", "one batch may hold none of the targets outside")
BOUNDED_LOGITS = 0.9  # clarity: a classifier may learn with bounded logits, only not become certain


def judge(measured: Measured) -> Observation | None:
    calls = [_judge_call(call) for call in measured.all(LossCall)]
    return clearest([*calls, *(_judge_targets(one) for one in measured.all(RegressionTargets))])


def _judge_call(call: LossCall) -> Observation | None:
    if not takes_raw_logits(call) or call.made_by in ("Relu", "Sigmoid"):
        return None
    if call.made_by != "Tanh":
        return seen(ID, False, f"The logits given to {call.loss} are not bounded.", at=call)
    text = (
        f"The logits given to {call.loss} come out of a tanh: they never leave -1 to 1, so no prediction can become "
        "certain."
    )
    return seen(ID, True, text, at=call, clarity=BOUNDED_LOGITS)


def _judge_targets(one: RegressionTargets) -> Observation | None:
    share = outside(one)
    if share is None:
        return fits(ID, one, f"The output given to {one.loss} has no activation that bounds it.")
    if one.made_by == "Relu":
        return None
    limits = (
        f"above {num(one.low or 0.0)}" if one.high is None else f"between {num(one.low or 0.0)} and {num(one.high)}"
    )
    text = (
        f"The output given to {one.loss} comes out of a {spoken(one.made_by)} and stays {limits}, but {percent(share)} "
        f"of the targets lie outside ({span(one)})."
    )
    return seen(ID, True, text, at=one)


def outside(one: RegressionTargets) -> float | None:
    """The share of the targets outside the range of the output, where it is enough to count; None where it is not."""
    if (one.low is None and one.high is None) or not TARGETS.reached(one.targets):
        return None
    share = (one.below + one.above) / one.targets
    return share if OUTSIDE.reached(share) else None


def fits(identifier: str, one: RegressionTargets, unbounded: str) -> Observation | None:
    """Absent where enough looks found that targets fit, or, with the sentence `unbounded`, where nothing bounds the
    output."""
    if not one.made_by:
        return None
    if one.low is None and one.high is None:
        return seen(identifier, False, unbounded, at=one)
    return seen(identifier, False, f"The output fits: {span(one)}.", at=one) if MIN_LOOKS.reached(one.looks) else None


def span(one: RegressionTargets) -> str:
    return f"targets reach from {num(one.lowest)} to {num(one.highest)}"


SYMPTOM = Symptom(
    id=ID,
    title="targets beyond the range of the output",
    severity="problem",
    family=ID,
    background=0.002,
    needs=(
        "loss function",
        "output of the model",
        "targets",
    ),
    doc="""
## What is observed
The output is bounded by its activation (sigmoid, tanh, softmax, softplus, …), and part of the targets lies outside.

## How it is measured
A recording reads the last activation off the autograd graph and counts the targets outside its range by more than
0.02: at least 5 % of 16 targets or more. It is absent where three looks found fewer. Negative targets behind a ReLU
are another symptom. A tanh in front of a loss that wants logits counts as well: no prediction can become certain. An
output that is scaled after the activation does not count.

## Healthy range
All targets lie within the range, as for pixel values in 0 to 1 behind a sigmoid.

## What it usually means
An output layer for another task, or targets (images, prices) that were standardised or left unscaled while the output
stayed bounded.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "standardised targets behind a sigmoid",
            "present",
            measured=(
                RegressionTargets(
                    loss="mse_loss",
                    made_by="Sigmoid",
                    low=0.0,
                    high=1.0,
                    looks=1,
                    targets=64,
                    below=32,
                    above=10,
                    lowest=-1.6,
                    highest=2.5,
                    where="train.py:42",
                ),
            ),
        ),
        Case("tanh before a loss on logits", "present", measured=(LossCall(loss=BINARY_LOGITS, made_by="Tanh"),)),
        Case(
            "pixels behind a sigmoid",
            "absent",
            measured=(RegressionTargets(loss="mse_loss", made_by="Sigmoid", low=0.0, high=1.0, looks=3, targets=640),),
        ),
        Case(
            "4 of 100 targets outside",
            "absent",
            measured=(
                RegressionTargets(loss="mse_loss", made_by="Tanh", low=-1.0, high=1.0, looks=3, targets=100, above=4),
            ),
        ),
        Case(
            "15 targets outside: too few",
            "unknown",
            measured=(
                RegressionTargets(loss="mse_loss", made_by="Tanh", low=-1.0, high=1.0, looks=1, targets=15, above=15),
            ),
        ),
        Case("a linear output", "absent", measured=(RegressionTargets(loss="mse_loss", made_by="Addmm", looks=1),)),
        Case("the graph is hidden", "unknown", measured=(RegressionTargets(loss="mse_loss", looks=9),)),
        Case("a log alone", "unknown"),
    ),
)
