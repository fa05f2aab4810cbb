"""relu-cuts-output: ReLU cuts off the output."""

from __future__ import annotations

from traindx.diagnosis import Observation
from traindx.loss_functions import BINARY_LOGITS
from traindx.measurements import LossCall, Measured, RegressionTargets
from traindx.symptoms.base import Case, Symptom, percent
from traindx.symptoms.loss_calls import clearest, takes_raw_logits
from traindx.symptoms.observed import from_measurements, seen
from traindx.symptoms.targets_beyond_output_range import fits, outside, span

ID = "relu-cuts-output"
SEVERAL_CLASSES = 0.85  # clarity: with several classes the order of the positive scores can still be learnt


def judge(measured: Measured) -> Observation | None:
    calls = [_judge_call(call) for call in measured.all(LossCall)]
    return clearest([*calls, *(_judge_targets(one) for one in measured.all(RegressionTargets))])


def _judge_call(call: LossCall) -> Observation | None:
    if not takes_raw_logits(call) or call.made_by in ("Tanh", "Sigmoid"):
        return None
    if call.made_by != "Relu":
        return seen(ID, False, f"The logits given to {call.loss} do not come out of a ReLU.", at=call)
    text = f"The logits given to {call.loss} come out of a ReLU: no class can get a score below 0."
    return seen(ID, True, text, at=call, clarity=1.0 if call.loss == BINARY_LOGITS else SEVERAL_CLASSES)


def _judge_targets(one: RegressionTargets) -> Observation | None:
    share = outside(one)
    if share is None:
        return fits(ID, one, f"The output given to {one.loss} does not come out of a ReLU.")
    if one.made_by != "Relu":
        return None
    text = (
        f"The output given to {one.loss} comes out of a ReLU, but {percent(share)} of the targets are negative "
        f"({span(one)})."
    )
    return seen(ID, True, text, at=one)


SYMPTOM = Symptom(
    id=ID,
    title="ReLU cuts off the output",
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
The last operation before the loss is a ReLU, so the output cannot go below zero where it has to.

## How it is measured
A recording reads off the autograd graph that a ReLU made the input of the loss function. For regression losses at
least 5 % of the targets, of 16 or more, must be below -0.02; it is absent where three looks found fewer. For losses
that want logits the ReLU itself is the fault, plain with one logit, less so with several classes.

## Healthy range
A ReLU in front of a regression loss is fine where no target is negative.

## What it usually means
An activation that was meant for hidden layers was put behind the last one as well. Samples with a negative target get
no gradient, and the output unit may die.
""",
    detect=from_measurements(ID, judge),
    cases=(
        Case(
            "half of the targets are negative",
            "present",
            measured=(
                RegressionTargets(
                    loss="mse_loss",
                    made_by="Relu",
                    low=0.0,
                    looks=1,
                    targets=64,
                    below=33,
                    lowest=-1.6,
                    highest=2.5,
                    where="train.py:42",
                ),
            ),
        ),
        Case("ReLU on one logit", "present", measured=(LossCall(loss=BINARY_LOGITS, made_by="Relu"),)),
        Case(
            "ReLU before cross-entropy", "present", measured=(LossCall(loss="cross_entropy", rows=64, made_by="Relu"),)
        ),
        Case(
            "3 of 64 targets are negative",
            "absent",
            measured=(RegressionTargets(loss="mse_loss", made_by="Relu", low=0.0, looks=3, targets=64, below=3),),
        ),
        Case(
            "15 targets, all of them negative, in two looks: too few",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", made_by="Relu", low=0.0, looks=2, targets=15, below=15),),
        ),
        Case(
            "no target is negative in two looks",
            "unknown",
            measured=(RegressionTargets(loss="mse_loss", made_by="Relu", low=0.0, looks=2, targets=64),),
        ),
        Case("a linear output", "absent", measured=(RegressionTargets(loss="mse_loss", made_by="Addmm", looks=1),)),
        Case("linear logits", "absent", measured=(LossCall(loss="cross_entropy", rows=64, made_by="Addmm"),)),
        Case("the graph is hidden", "unknown", measured=(RegressionTargets(loss="mse_loss", looks=9),)),
        Case("a log alone", "unknown"),
    ),
)
